import { expect, test } from 'vitest'
import { NOTHING_CHOSEN } from '../src/model/conflicts.ts'
import { type Cause, Settling } from '../src/state/choices.ts'

const OURS = { ...NOTHING_CHOSEN, prevails: 'ours' as const }
const ONE = { each: new Map([['/a', { take: 'theirs' as const }]]) }

const told = (settling: Settling) => settling.made.map(({ tree, branch, cause }) => `${tree} ${branch} ${JSON.stringify(cause)}`)

test('what is chosen stays, each for what it was chosen for, until that is done or it is discarded', () => {
  const settling = new Settling()
  const [merge, undo]: Cause[] = [{ merge: 'winter' }, { undo: 7 }]
  settling.set('t', 'main', merge!, OURS)
  settling.set('t', 'main', undo!, ONE)
  settling.set('t', 'main', { undo: 8 }, NOTHING_CHOSEN)
  expect(settling.of('t', 'main', { merge: 'winter' })).toBe(OURS)
  expect(settling.of('t', 'main', { undo: 7 })).toBe(ONE)
  for (const [tree, branch, cause] of [['u', 'main', merge!], ['t', 'draft', merge!], ['t', 'main', { merge: 'draft' }], ['t', 'main', { undo: 8 }]] as const) {
    expect(settling.of(tree, branch, cause)).toBe(NOTHING_CHOSEN)
  }
  expect(settling.made.length).toBe(2)
  settling.set('t', 'main', merge!, NOTHING_CHOSEN)
  settling.discard(settling.made[0]!)
  expect(settling.made).toEqual([])
})

test('what is chosen goes along with the name of a tree, and is known by both branches of a merge', () => {
  const settling = new Settling()
  settling.set('t', 'main', { merge: 'winter' }, ONE)
  settling.set('t', 'winter', { undo: 7 }, ONE)
  settling.set('t', 'draft', { undo: 7 }, ONE)
  settling.set('u', 'main', { merge: 'winter' }, ONE)
  settling.rename('t', 'v')
  expect(settling.ofTree('t')).toEqual([])
  expect(settling.ofTree('v').length).toBe(3)
  expect([settling.mergeInto('v', 'main'), settling.mergeInto('v', 'draft'), settling.mergeInto('t', 'main')]).toEqual(['winter', undefined, undefined])
  settling.ofBranch('v', 'winter').forEach((one) => settling.discard(one))
  expect(told(settling)).toEqual(['v draft {"undo":7}', 'u main {"merge":"winter"}'])
})
