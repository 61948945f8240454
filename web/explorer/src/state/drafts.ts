/** What is written and not saved yet: it stays wherever one goes, and whatever others delete meanwhile. */

import type { Value } from '../api/types.ts'
import { isWithin } from '../model/path.ts'
import { edited, type Typed } from '../model/value.ts'

/** An attribute that is being edited. */
export interface Editing {
  /** The value as it was when the editing began: what others make of it meanwhile is not unseen. */
  old: Value
  /** What was made of it, once something was. */
  typed?: Typed
  /** What others have made of it since, where that may be written over; nothing where they removed it. */
  seen?: { now: Value | undefined }
  /** What was last asked to be kept: it may be told before it is answered. */
  sent?: Value
}

/** What is written of one node. */
export interface Draft {
  /** What the tree is called; it may be renamed. */
  tree: string
  readonly branch: string
  /** Where the node is; it may be moved. */
  path: string
  /** The attributes that are being edited, by their names. */
  readonly edits: Map<string, Editing>
  /** A new one, as far as it is typed in. */
  fresh: { name: string; text: string }
}

export class Drafts {
  private readonly all = new Map<string, Draft>()

  /** Of this node: an empty one, where nothing is written. */
  of(tree: string, branch: string, path: string): Draft {
    const key = idOf(tree, branch, path)
    const known = this.all.get(key)
    if (known !== undefined) return known
    for (const [other, { edits, fresh }] of this.all) {
      if (edits.size === 0 && isEmpty(fresh)) this.all.delete(other)
    }
    const draft: Draft = { tree, branch, path, edits: new Map(), fresh: { name: '', text: '' } }
    this.all.set(key, draft)
    return draft
  }

  /** Those in which something is written. */
  get written(): Draft[] {
    return [...this.all.values()].filter((draft) => written(draft).length > 0)
  }

  /** What is written of a node, and of those below it. */
  within(tree: string, branch: string, top: string): Draft[] {
    return this.ofTree(tree).filter((draft) => draft.branch === branch && isWithin(draft.path, top))
  }

  /** What is written of a tree, on all its branches. */
  ofTree(tree: string): Draft[] {
    return this.written.filter((draft) => draft.tree === tree)
  }

  /** A node was moved: what is written of it, and of those below it, goes along. */
  move(tree: string, branch: string, from: string, to: string): void {
    for (const draft of this.within(tree, branch, from)) this.carry(draft, tree, to + draft.path.slice(from.length))
  }

  /** A tree was renamed: what is written of it goes along. */
  rename(tree: string, name: string): void {
    for (const draft of this.ofTree(tree)) this.carry(draft, name, draft.path)
  }

  private carry(draft: Draft, tree: string, path: string): void {
    const id = idOf(tree, draft.branch, path)
    const other = this.all.get(id)
    // What was written of one that was there before is not lost.
    if (other !== undefined && written(other).length > 0) return
    this.all.delete(idOf(draft.tree, draft.branch, draft.path))
    draft.tree = tree
    draft.path = path
    this.all.set(id, draft)
  }
}

const idOf = (tree: string, branch: string, path: string) => `${tree}\n${branch}\n${path}`

/** What is written, by the names of the attributes. */
export function written({ edits, fresh }: Draft): [name: string, text: string][] {
  const found: [string, string][] = []
  for (const [name, { old, typed }] of edits) {
    if (typed !== undefined && isOther(old, typed)) found.push([name, typed.text])
  }
  if (!isEmpty(fresh)) found.push([fresh.name, fresh.text])
  return found
}

/** Closes the editors in which nothing is written. */
export function closeUntouched({ edits }: Draft): void {
  for (const [name, { old, typed }] of edits) {
    if (typed === undefined || !isOther(old, typed)) edits.delete(name)
  }
}

export function discard(draft: Draft): void {
  draft.edits.clear()
  draft.fresh = { name: '', text: '' }
}

const isOther = (old: Value, { kind, text }: Typed) => kind !== old.type || text !== edited(old)

const isEmpty = ({ name, text }: Draft['fresh']) => name === '' && text === ''
