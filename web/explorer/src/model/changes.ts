/** What happened, as rows: changes of one place together, with what was and what is. */

import type { Change, Value } from '../api/types.ts'
import { ancestors } from './path.ts'

export type Sign = 'added' | 'removed' | 'changed' | 'moved'

export interface Put {
  attribute: string
  old: Value | undefined
  now: Value | undefined
}

export interface ChangeRow {
  sign: Sign
  path: string
  /** Where it was before it was moved. */
  from?: string
  /** How many nodes came or went with it, if more than itself. */
  nodes?: number
  puts: Put[]
}

export function changeRows(changes: readonly Change[]): ChangeRow[] {
  const rows: ChangeRow[] = []
  const byPath = new Map<string, ChangeRow>()
  const row = (sign: Sign, path: string): ChangeRow => {
    const made: ChangeRow = { sign, path, puts: [] }
    rows.push(made)
    byPath.set(path, made)
    return made
  }
  for (const change of changes) {
    const { path, attribute, nodes } = change
    switch (change.op) {
      case 'add':
        withNodes(row('added', path), nodes)
        break
      case 'set':
        withNodes(row(byPath.get(path)?.sign === 'added' ? 'added' : 'changed', path), nodes)
        break
      case 'remove':
        withNodes(row('removed', path), nodes)
        byPath.delete(path)
        break
      case 'move':
        row('moved', path).from = change.from ?? ''
        break
      case 'put':
      case 'unset': {
        const found = byPath.get(path) ?? row('changed', path)
        found.puts.push({ attribute: attribute ?? '', old: change.old, now: change.value })
      }
    }
  }
  return rows
}

function withNodes(row: ChangeRow, nodes: number | undefined): void {
  if (nodes !== undefined && nodes > 1) row.nodes = nodes
}

/** How nodes of the newer version are to be marked; `below` where only something below changed. */
export function marks(rows: readonly ChangeRow[]): Map<string, Sign | 'below'> {
  const found = new Map<string, Sign | 'below'>()
  for (const { path } of rows) {
    for (const above of ancestors(path).slice(0, -1)) found.set(above, 'below')
  }
  for (const { path, sign } of rows) if (sign !== 'removed') found.set(path, sign)
  return found
}

export interface Piece {
  kind: 'same' | 'old' | 'new'
  text: string
}

/** Each text by itself, with what both have. */
export function sides(pieces: readonly Piece[]): [old: Piece[], now: Piece[]] {
  return [pieces.filter(({ kind }) => kind !== 'new'), pieces.filter(({ kind }) => kind !== 'old')]
}

/** Texts longer than this many words are shown whole, one after the other. */
const WORDS_MAX = 400

/** Which words of a text went, came and stayed: the longest that both have in order stays. */
export function wordDiff(old: string, now: string): Piece[] {
  const [left, right] = [words(old), words(now)]
  if (left.length > WORDS_MAX || right.length > WORDS_MAX) {
    return pieces([['old', old], ['new', now]])
  }
  const longest = table(left, right)
  const found: [Piece['kind'], string][] = []
  let [a, b] = [0, 0]
  while (a < left.length || b < right.length) {
    if (a < left.length && b < right.length && left[a] === right[b]) {
      found.push(['same', left[a]!])
      a += 1
      b += 1
    } else if (a < left.length && (b === right.length || longest[a + 1]![b]! >= longest[a]![b + 1]!)) {
      found.push(['old', left[a]!])
      a += 1
    } else {
      found.push(['new', right[b]!])
      b += 1
    }
  }
  return pieces(found)
}

function words(text: string): string[] {
  return text.match(/\s+|[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu) ?? []
}

/** The length of the longest common part from each pair of places on. */
function table(left: string[], right: string[]): number[][] {
  const longest = Array.from({ length: left.length + 1 }, () => new Array<number>(right.length + 1).fill(0))
  for (let a = left.length - 1; a >= 0; a -= 1) {
    for (let b = right.length - 1; b >= 0; b -= 1) {
      longest[a]![b] = left[a] === right[b]
        ? longest[a + 1]![b + 1]! + 1
        : Math.max(longest[a + 1]![b]!, longest[a]![b + 1]!)
    }
  }
  return longest
}

/**
 * Neighbours of a kind together. What changed on both sides of white space is one change, with the
 * white space in it, or a rewritten sentence would be a mosaic.
 */
function pieces(all: [Piece['kind'], string][]): Piece[] {
  const found: Piece[] = []
  const changed = { old: '', new: '' }
  let gap = ''
  const flush = () => {
    for (const kind of ['old', 'new'] as const) {
      if (changed[kind] !== '') found.push({ kind, text: changed[kind] })
      changed[kind] = ''
    }
    add(gap)
    gap = ''
  }
  const add = (text: string) => {
    const last = found.at(-1)
    if (last?.kind === 'same') last.text += text
    else if (text !== '') found.push({ kind: 'same', text })
  }
  for (const [kind, text] of all) {
    const isChanging = changed.old !== '' || changed.new !== ''
    if (kind !== 'same') {
      changed.old += gap
      changed.new += gap
      changed[kind] += text
      gap = ''
    } else if (isChanging && gap === '' && /^\s+$/.test(text)) gap = text
    else {
      flush()
      add(text)
    }
  }
  flush()
  return found
}
