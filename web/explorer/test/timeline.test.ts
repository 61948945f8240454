import { expect, test } from 'vitest'
import type { Revision } from '../src/api/types.ts'
import { most, timeMarks } from '../src/model/timeline.ts'

/** Revisions at these seconds; those at the places named have a tag. */
const at = (seconds: number[], tagged: number[] = []): Revision[] => seconds.map((second, place) => ({
  revision: place + 1, time: new Date(second * 1000).toISOString(), author: null, message: null,
  tags: tagged.includes(place) ? ['t'] : [],
}))

const numbers = (many: number) => Array.from({ length: many }, (_, place) => place)

test('each revision has a mark while there is room', () => {
  const marks = timeMarks(at([0, 1, 2]), 3)
  expect(marks.map(({ place, one, many }) => [place, one.revision, many])).toEqual([[0, 1, 1], [1, 2, 1], [2, 3, 1]])
  expect([most(marks), most([]), timeMarks([], 3)]).toEqual([1, 1, []])
})

test('neighbours share a mark, and all are counted', () => {
  const marks = timeMarks(at(numbers(100), [7, 98]), 10)
  expect(marks.map(({ place }) => place)).toEqual([0, 7, 10, 20, 30, 40, 50, 60, 70, 80, 90, 98])
  expect(marks.slice(0, 3).map(({ many }) => many)).toEqual([7, 3, 10])
  expect(marks.reduce((sum, { many }) => sum + many, 0)).toBe(100)
  expect(most(marks)).toBe(10)
})

test('where revisions came fast is told from where they came slowly', () => {
  const day = 86_400
  const paces = (revisions: Revision[], max: number) => timeMarks(revisions, max).map(({ pace }) => pace)
  const [slow, fast, burst, last] = paces(at([0, day, day + 1, day + 2]), 10)
  expect([slow, fast, burst, last]).toEqual([0, 1, 1, 0])
  const shared = paces(at([0, day, 2 * day, 2 * day + 1, 2 * day + 2, 2 * day + 3]), 3)
  expect(shared).toEqual([0, 1, 1])
  // Also where clocks go back or stand still.
  for (const pace of paces(at([5, 3, 3, 9]), 10)) expect(pace).toBeGreaterThanOrEqual(0)
  expect(paces(at([0, 1, 2, 3]), 10)).toEqual([0, 0, 0, 0])
})
