import { expect, test } from 'vitest'
import type { Conflict } from '../src/api/types.ts'
import { allAs, choiceOf, choose, chosenOf, isAnyChosen, NOTHING_CHOSEN, openOf, settled } from '../src/model/conflicts.ts'

const conflict = (path: string, attribute?: string): Conflict => {
  const change = { op: 'put' as const, path }
  return { path, kind: 'attribute', ours: change, theirs: change, ...(attribute === undefined ? {} : { attribute }) }
}

const LISTED = [conflict('/a', 'name'), conflict('/a', ''), conflict('/a')]

test('a conflict is settled once something is chosen for it, and written', () => {
  const [name, unnamed] = [LISTED[0]!, LISTED[1]!]
  expect(openOf(NOTHING_CHOSEN, LISTED, 5)).toBe(5)
  const taken = choose(NOTHING_CHOSEN, name, { take: 'ours' })
  expect(openOf(taken, LISTED, 5)).toBe(4)
  const writing = choose(taken, unnamed, { writing: undefined })
  expect(openOf(writing, LISTED, 5)).toBe(4)
  expect(settled(writing, LISTED)).toEqual({ resolve: [{ path: '/a', attribute: 'name', take: 'ours' }] })
  const value = { type: 'text' as const, value: 'mint' }
  expect(settled(choose(writing, unnamed, { value }), LISTED).resolve[1]).toEqual({ path: '/a', attribute: '', value })
})

test('of other conflicts than before nothing is chosen but what was chosen for one of them alone', () => {
  const [name, unnamed] = [LISTED[0]!, LISTED[1]!]
  const told = { conflicts: LISTED, conflict_count: 5 }
  const taken = choose(choose(allAs('theirs', told), name, { take: 'ours' }), unnamed, { take: 'ours' })
  expect(isAnyChosen(taken)).toBe(true)
  expect(chosenOf(taken, { ...told })).toEqual(taken)
  expect(chosenOf(taken, { ...told, conflict_count: 6 })).toEqual({ each: taken.each })
  const kept = chosenOf(taken, { conflicts: [unnamed, conflict('/b')], conflict_count: 2 })
  expect(kept).toEqual({ each: new Map([['/a\n', { take: 'ours' }]]) })
  expect(isAnyChosen(kept)).toBe(true)
  expect(isAnyChosen(chosenOf(kept, { conflicts: [], conflict_count: 0 }))).toBe(false)
})

test('where one side prevails, it does not in what is chosen or written alone', () => {
  const [name, unnamed, node] = [LISTED[0]!, LISTED[1]!, LISTED[2]!]
  const taken = choose({ ...NOTHING_CHOSEN, prevails: 'theirs' }, name, { take: 'ours' })
  expect(openOf(taken, LISTED, 2_000)).toBe(0)
  expect(settled(taken, LISTED)).toEqual({ resolve: [{ path: '/a', attribute: 'name', take: 'ours' }], prevails: 'theirs' })
  expect([name, unnamed].map((one) => choiceOf(taken, one))).toEqual([{ take: 'ours' }, { take: 'theirs' }])
  expect(openOf(choose(taken, node, { writing: undefined }), LISTED, 2_000)).toBe(1)
})
