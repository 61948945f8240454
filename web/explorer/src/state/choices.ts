/** What is chosen for conflicts, and not done yet: it stays wherever one goes. */

import { useState } from 'preact/hooks'
import { type Choices, isAnyChosen, NOTHING_CHOSEN } from '../model/conflicts.ts'
import type { App } from './app.ts'
import type { Session } from './session.ts'

/** What has conflicts: the merge of another branch, or taking back a revision. */
export type Cause = { merge: string } | { undo: number }

/** What is chosen for the conflicts of something that is to be done on a branch. */
export interface Chosen {
  /** What the tree is called; it may be renamed. */
  tree: string
  readonly branch: string
  readonly cause: Cause
  choices: Choices
}

export class Settling {
  private all: readonly Chosen[] = []

  of(tree: string, branch: string, cause: Cause): Choices {
    return this.all.find(isOf(tree, branch, cause))?.choices ?? NOTHING_CHOSEN
  }

  set(tree: string, branch: string, cause: Cause, choices: Choices): void {
    const is = isOf(tree, branch, cause)
    this.all = this.all.filter((one) => !is(one))
    if (isAnyChosen(choices)) this.all = [...this.all, { tree, branch, cause, choices }]
  }

  get made(): readonly Chosen[] {
    return this.all
  }

  discard(one: Chosen): void {
    this.all = this.all.filter((other) => other !== one)
  }

  /** The branch for whose merge into this one something was chosen last. */
  mergeInto(tree: string, branch: string): string | undefined {
    const merges = this.ofTree(tree).flatMap((one) => (one.branch === branch && 'merge' in one.cause ? [one.cause.merge] : []))
    return merges.at(-1)
  }

  /** What is chosen of a tree, on all its branches. */
  ofTree(tree: string): readonly Chosen[] {
    return this.all.filter((one) => one.tree === tree)
  }

  /** What is chosen for merges of a branch, and for what is to be done on it. */
  ofBranch(tree: string, name: string): readonly Chosen[] {
    return this.ofTree(tree).filter(({ branch, cause }) => branch === name || ('merge' in cause && cause.merge === name))
  }

  /** A tree was renamed: what is chosen of it goes along. */
  rename(tree: string, name: string): void {
    for (const one of this.ofTree(tree)) one.tree = name
  }
}

const nameOf = (cause: Cause) => ('merge' in cause ? `merge ${cause.merge}` : `undo ${cause.undo}`)

const isOf = (tree: string, branch: string, cause: Cause) => (one: Chosen) => (
  one.tree === tree && one.branch === branch && nameOf(one.cause) === nameOf(cause)
)

/** What is chosen for the conflicts of something, and what changes it. */
export function useChoices({ settling }: App, { tree, branch }: Session, cause: Cause): [Choices, (change: (now: Choices) => Choices) => void] {
  const [, draw] = useState({})
  const change = (how: (now: Choices) => Choices) => {
    settling.set(tree, branch, cause, how(settling.of(tree, branch, cause)))
    draw({})
  }
  return [settling.of(tree, branch, cause), change]
}
