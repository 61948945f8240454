/** The marks on the slider over revisions, which is as long for a busy hour as for a quiet year. */

import type { Revision } from '../api/types.ts'

export interface Mark {
  /** Which of the revisions it stands at. */
  place: number
  one: Revision
  /** How many it stands for: those from here to the next mark. */
  many: number
  /** How fast they came: from 0, the slowest of all marks, to 1. */
  pace: number
}

/** A mark for each revision and, with more than `max`, one for several neighbours; each that has a tag has one. */
export function timeMarks(revisions: readonly Revision[], max: number): Mark[] {
  const each = Math.max(1, Math.ceil(revisions.length / max))
  const places: number[] = []
  revisions.forEach(({ tags }, place) => {
    if (place % each === 0 || tags.length > 0) places.push(place)
  })
  const next = (at: number) => places[at + 1] ?? revisions.length
  const waits = places.map((place, at) => wait(revisions, place, Math.min(next(at), revisions.length - 1)))
  const known = waits.filter((one) => one !== undefined)
  const slow = known.reduce((most, one) => Math.max(most, one), -Infinity)
  const fast = known.reduce((least, one) => Math.min(least, one), Infinity)
  return places.map((place, at) => {
    const own = waits[at] ?? slow
    const pace = slow > fast ? (slow - own) / (slow - fast) : 0
    return { place, one: revisions[place]!, many: next(at) - place, pace }
  })
}

/** The most that one of them stands for. */
export function most(marks: readonly Mark[]): number {
  return marks.reduce((found, { many }) => Math.max(found, many), 1)
}

/** How long from one revision to the next, of those from one place to another; years and seconds compare as logarithms. */
function wait(revisions: readonly Revision[], from: number, to: number): number | undefined {
  if (from === to) return undefined
  const [begin, end] = [revisions[from]!, revisions[to]!].map(({ time }) => Date.parse(time))
  return Math.log(Math.max(1, (end! - begin!) / (to - from)))
}
