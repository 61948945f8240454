import { expect, test } from 'vitest'
import type { Child } from '../src/api/types.ts'
import { Forest, type Open, PAGE } from '../src/model/forest.ts'

const leaf = (path: string, child_count = 0): Child =>
  ({ key: path.split('/').at(-1)!, path, attributes: {}, child_count, subtree_count: 1 })

/** Loads a page of children that are numbered, with as many below each as said. */
function load(forest: Forest, above: Open, page: number, count: number, below = 0) {
  const length = Math.min(PAGE, count - page * PAGE)
  const at = above.path === '/' ? '' : above.path
  const children = Array.from({ length }, (_, index) => leaf(`${at}/${page * PAGE + index}`, below))
  forest.load(above, page, count, children)
}

const path = (forest: Forest, row: number) => forest.row(row).node?.path

test('any node may be the top', () => {
  const forest = new Forest('/a/b')
  load(forest, forest.root, 0, 3)
  expect([forest.find('/a/b', '/a'), forest.find('/a/b/1', '/a/b'), forest.find('/a', '/')]).toEqual([0, 2, undefined])
})

test('a million children are rows before they are loaded', () => {
  const forest = new Forest()
  load(forest, forest.root, 0, 1_000_000)
  expect(forest.rows).toBe(1_000_001)
  expect(path(forest, 100)).toBe('/99')
  const { node, place, siblings, depth } = forest.row(1_000_000)
  expect({ node, place, siblings, depth })
    .toEqual({ node: undefined, place: 999_999, siblings: 1_000_000, depth: 1 })
  load(forest, forest.root, 9999, 1_000_000)
  expect(path(forest, 1_000_000)).toBe('/999999')
  expect(forest.find('/999999', '/')).toBe(1_000_000)
})

test('open children push the rows behind them down', () => {
  const forest = new Forest()
  load(forest, forest.root, 0, 10, 3)
  const two = forest.open(forest.root, 2, forest.row(3).node!)
  const five = forest.open(forest.root, 5, leaf('/5', 3))
  for (const open of [two, five]) load(forest, open, 0, 3, 2)
  const inner = forest.open(two, 1, leaf('/2/1', 2))
  load(forest, inner, 0, 2)
  const rows = Array.from({ length: forest.rows }, (_, row) => path(forest, row))
  expect(rows).toEqual([
    undefined, '/0', '/1', '/2', '/2/0', '/2/1', '/2/1/0', '/2/1/1', '/2/2', '/3', '/4', '/5',
    '/5/0', '/5/1', '/5/2', '/6', '/7', '/8', '/9',
  ])
  expect(forest.row(7).depth).toBe(3)
  for (const [row, at] of rows.entries()) {
    if (at === undefined) continue
    const above = at.slice(0, at.lastIndexOf('/')) || '/'
    expect(forest.find(at, above)).toBe(row)
  }
  forest.close(two)
  expect(forest.rows).toBe(1 + 10 + 3)
  expect(forest.opened('/2/1')).toBeUndefined()
  expect(path(forest, 7)).toBe('/5/0')
})

test('open children are found again when others come before them or they go', () => {
  const forest = new Forest()
  load(forest, forest.root, 0, 3, 2)
  const one = forest.open(forest.root, 1, leaf('/1', 2))
  load(forest, one, 0, 2)
  forest.staleAll()
  expect(forest.wants(one, 0)).toBe(true)
  forest.load(forest.root, 0, 4, [leaf('/new'), leaf('/0', 2), leaf('/1', 2), leaf('/2', 2)])
  expect(one.index).toBe(2)
  expect(path(forest, 4)).toBe('/1/0')
  expect(forest.rows).toBe(1 + 4 + 2)
  forest.load(forest.root, 0, 3, [leaf('/new'), leaf('/0', 2), leaf('/2', 2)])
  expect(forest.opened('/1')).toBeUndefined()
  expect(forest.rows).toBe(1 + 3)
})

test('a page that comes for a closed node is let go', () => {
  const forest = new Forest()
  load(forest, forest.root, 0, 3, 2)
  const open = forest.open(forest.root, 1, leaf('/1', 2))
  forest.close(open)
  load(forest, open, 0, 50)
  expect(forest.rows).toBe(4)
})

test('random opening and closing keeps rows and nodes in step', () => {
  let seed = 20261122
  const random = (below: number) => {
    seed = (seed * 1103515245 + 12345) % 2 ** 31
    return Math.floor((seed / 2 ** 31) * below)
  }
  const forest = new Forest()
  load(forest, forest.root, 0, 7, 4)
  for (let step = 0; step < 400; step += 1) {
    const at = forest.row(1 + random(forest.rows - 1))
    if (at.open) forest.close(at.open)
    else if (at.node && at.depth < 5) load(forest, forest.open(at.above!, at.place, at.node), 0, 4, 4)
    const listed: string[] = []
    const list = (above: Open) => {
      for (const child of above.pages.get(0) ?? []) {
        listed.push(child.path)
        const open = forest.opened(child.path)
        if (open) list(open)
      }
    }
    list(forest.root)
    const rows = Array.from({ length: forest.rows - 1 }, (_, row) => path(forest, row + 1))
    expect(rows, `seed 20261122, step ${step}`).toEqual(listed)
  }
})
