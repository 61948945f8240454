import { expect, test } from 'vitest'
import { changeRows, marks, sides, wordDiff } from '../src/model/changes.ts'
import { layout, LINE } from '../src/model/graph.ts'
import { ago, expression, hue } from '../src/model/words.ts'

const text = (value: string) => ({ type: 'text', value }) as const

test('changes of one place are one row', () => {
  const rows = changeRows([
    { op: 'remove', path: '/0', nodes: 4 },
    { op: 'add', path: '/2' },
    { op: 'put', path: '/2', attribute: 'a', value: text('x') },
    { op: 'put', path: '/1', attribute: 'a', old: text('x'), value: text('y') },
    { op: 'unset', path: '/1', attribute: 'b', old: text('z') },
    { op: 'move', path: '/3', from: '/1/0' },
    { op: 'put', path: '/3', attribute: 'c', value: text('w') },
  ])
  expect(rows.map(({ sign, path, puts }) => [sign, path, puts.length])).toEqual([
    ['removed', '/0', 0], ['added', '/2', 1], ['changed', '/1', 2], ['moved', '/3', 1],
  ])
  expect(rows[0]!.nodes).toBe(4)
  expect(rows[2]!.puts[1]).toEqual({ attribute: 'b', old: text('z'), now: undefined })
  expect(rows[3]!.from).toBe('/1/0')
})

test('what came with a larger subtree is added, once', () => {
  expect(changeRows([{ op: 'add', path: '/a', nodes: 40 }, { op: 'set', path: '/b', nodes: 40 }])).toEqual([
    { sign: 'added', path: '/a', nodes: 40, puts: [] },
    { sign: 'changed', path: '/b', nodes: 40, puts: [] },
  ])
})

test('marks are on what changed and, fainter, on what is above it', () => {
  const found = marks(changeRows([
    { op: 'put', path: '/a/b/c', attribute: 'x', value: text('') },
    { op: 'add', path: '/a/b' },
    { op: 'remove', path: '/d/0' },
  ]))
  expect(Object.fromEntries(found)).toEqual({
    '/': 'below', '/a': 'below', '/a/b': 'added', '/a/b/c': 'changed', '/d': 'below',
  })
})

test.each([
  ['a b c', 'a x c', 'a [b]{x} c'],
  ['', 'new', '{new}'],
  ['same', 'same', 'same'],
  ['one two', 'two', '[one ]two'],
  ['and take the side', 'and leave some side', 'and [take the]{leave some} side'],
  ['a b', 'b a', '[a ]b{ a}'],
  ['buy milk', 'buy oat milk!', 'buy {oat }milk{!}'],
])('%j to %j is %j', (old, now, expected) => {
  const pieces = wordDiff(old, now)
  const written = { same: (text: string) => text, old: (text: string) => `[${text}]`, new: (text: string) => `{${text}}` }
  expect(pieces.map(({ kind, text }) => written[kind](text)).join('')).toBe(expected)
  expect(sides(pieces).map((side) => side.map(({ text }) => text).join(''))).toEqual([old, now])
})

test('a node of the picture stands in the middle of its children', () => {
  const bough = (label: string, ...boughs: ReturnType<typeof make>[]) => make(label, boughs)
  const { nodes, lines, height } = layout(bough('r', bough('a', bough('b'), bough('c')), bough('d')))
  const y = Object.fromEntries(nodes.map(({ bough: { label }, y: at }) => [label, at / LINE]))
  expect(y).toEqual({ b: 0, c: 1, a: 0.5, d: 2, r: 1.25 })
  expect([lines.length, height]).toEqual([4, 3 * LINE])
})

interface Made { path: string; label: string; text: string; more: number; boughs: Made[] }
function make(label: string, boughs: Made[]): Made {
  return { path: label, label, text: '', more: 0, boughs }
}

test('words', () => {
  const now = Date.parse('2026-11-22T12:00:00Z')
  const told = ['2026-11-22T12:00:00Z', '2026-11-22T11:59:00Z', '2026-11-20T12:00:00Z'].map((time) => ago(time, now))
  expect(told).toEqual(['just now', '1 minute ago', '2 days ago'])
  expect(hue('ana')).toBe(hue('ana'))
  expect(hue(null)).toBe(0)
  expect(expression('a = 3', ['t'])).toBe('a = 3')
  expect(expression('milk "x"', ['t', 'a b'])).toBe('@name ~ "milk \\"x\\"" or t ~ "milk \\"x\\"" or "a b" ~ "milk \\"x\\""')
})
