import { useState } from 'preact/hooks'
import { type Choices, NOTHING_CHOSEN } from '../model/conflicts.ts'
import type { Session } from './session.ts'

/** What is chosen for the conflicts of something, and what changes it: kept with the session, it stays where one goes elsewhere. */
export function useChoices({ choices }: Session, what: string): [Choices, (change: (now: Choices) => Choices) => void] {
  const [, draw] = useState({})
  const chosen = () => choices.get(what) ?? NOTHING_CHOSEN
  const change = (how: (now: Choices) => Choices) => {
    choices.set(what, how(chosen()))
    draw({})
  }
  return [chosen(), change]
}
