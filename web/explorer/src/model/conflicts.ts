/** How conflicts are settled: one by one, or all as one side has them. */

import type { Conflict, Settled, Side, Value } from '../api/types.ts'
import type { Typed } from './value.ts'

/** While another value is being written it is not settled: else what was chosen before would be done. */
export type Choice = { take: Side } | { value: Value } | Writing

/** Another value, as far as it is written. */
export interface Writing {
  writing: Typed | undefined
}

export interface Choices {
  /** What was chosen for one alone, by its place. */
  each: ReadonlyMap<string, Choice>
  /** Whose side is taken in all others. */
  prevails?: Side | undefined
  /** Of which conflicts that was said. */
  of?: string | undefined
}

/** The first conflicts, and how many there are. */
interface Told {
  conflicts: readonly Conflict[]
  conflict_count: number
}

const nameOf = ({ conflicts, conflict_count }: Told) => JSON.stringify([conflict_count, conflicts])

export const NOTHING_CHOSEN: Choices = { each: new Map() }

/** One side has all of them. */
export const allAs = (prevails: Side, told: Told): Choices => ({ ...NOTHING_CHOSEN, prevails, of: nameOf(told) })

/** Is something chosen that is to be done? */
export const isAnyChosen = ({ each, prevails }: Choices) => each.size > 0 || prevails !== undefined

/** Without what was chosen for others than these: who said that one side has all of others has not seen these. */
export function chosenOf({ each, prevails, of }: Choices, told: Told): Choices {
  const places = new Set(told.conflicts.map(placeOf))
  const kept = new Map([...each].filter(([place]) => places.has(place)))
  return of === nameOf(told) ? { each: kept, prevails, of } : { each: kept }
}

export const placeOf = ({ path, attribute }: Conflict) => (attribute === undefined ? path : `${path}\n${attribute}`)

export function choiceOf({ each, prevails }: Choices, conflict: Conflict): Choice | undefined {
  return each.get(placeOf(conflict)) ?? (prevails && { take: prevails })
}

export function choose({ each, ...all }: Choices, conflict: Conflict, choice: Choice): Choices {
  return { ...all, each: new Map([...each, [placeOf(conflict), choice]]) }
}

export const isWriting = (choice: Choice): choice is Writing => 'writing' in choice

/** How many are not settled, of so many of which these are listed. */
export function openOf({ each, prevails }: Choices, listed: readonly Conflict[], total: number): number {
  const chosen = listed.flatMap((one) => each.get(placeOf(one)) ?? [])
  const writing = chosen.filter(isWriting).length
  return prevails === undefined ? total - chosen.length + writing : writing
}

/** As the server takes it. */
export function settled({ each, prevails }: Choices, listed: readonly Conflict[]): Settled {
  const resolve = listed.flatMap((conflict) => {
    const { path, attribute } = conflict
    const choice = each.get(placeOf(conflict))
    return choice && !isWriting(choice) ? [{ path, ...(attribute === undefined ? {} : { attribute }), ...choice }] : []
  })
  return { resolve, ...(prevails && { prevails }) }
}
