/**
 * The rows of a tree of which only some is loaded: which row is which node, whatever is open.
 *
 * An open node knows how many children it has, the pages of them that were loaded, and which of
 * them are open. Finding a row goes down from the root and skips open siblings by their number of
 * rows, so it costs as much for a million children as for ten.
 */

import type { Child } from '../api/types.ts'

export const PAGE = 100

export interface Open {
  path: string
  depth: number
  /** The place among the siblings. */
  index: number
  above: Open | undefined
  /** How many children. */
  count: number
  /** Rows below this one: children, and what is open in them. */
  rows: number
  /** Pages of children by their number. */
  pages: Map<number, Child[]>
  /** Pages that show an older version, to be loaded again when they are seen. */
  stale: Set<number>
  /** Open children, in order. */
  open: Open[]
}

export interface Row {
  index: number
  depth: number
  /** Of siblings. */
  place: number
  siblings: number
  above: Open | undefined
  /** Nothing while it is being loaded. */
  node: Child | undefined
  open: Open | undefined
}

export class Forest {
  readonly root: Open
  /** The root as if it were a child. It may be any node: who may read only that sees it as the tree. */
  node: Child | undefined
  private readonly byPath = new Map<string, Open>()

  constructor(top = '/') {
    this.root = fresh(top, 0, 0, undefined, 0)
    this.byPath.set(top, this.root)
  }

  /** All rows, that of the root included. */
  get rows(): number {
    return 1 + this.root.rows
  }

  opened(path: string): Open | undefined {
    return this.byPath.get(path)
  }

  row(index: number): Row {
    if (index === 0) {
      const { root, node } = this
      return { index, depth: 0, place: 0, siblings: 1, above: undefined, node, open: root }
    }
    let above = this.root
    let left = index - 1
    for (;;) {
      const found = within(above, left)
      if ('open' in found && found.rest >= 0) {
        above = found.open!
        left = found.rest
        continue
      }
      return {
        index,
        depth: above.depth + 1,
        place: found.place,
        siblings: above.count,
        above,
        node: above.pages.get(Math.floor(found.place / PAGE))?.[found.place % PAGE],
        open: found.open,
      }
    }
  }

  /** The row of the child at this place of an open node. */
  rowOf(above: Open, place: number): number {
    let row = place + 1
    for (const open of above.open) if (open.index < place) row += open.rows
    if (above.above === undefined) return row
    return row + this.rowOf(above.above, above.index)
  }

  /** The row of a node that has been loaded below open ones. */
  find(path: string, parent: string | undefined): number | undefined {
    if (path === this.root.path) return 0
    const above = parent === undefined ? undefined : this.byPath.get(parent)
    if (above === undefined) return undefined
    for (const [page, children] of above.pages) {
      const at = children.findIndex((child) => child.path === path)
      if (at >= 0) return this.rowOf(above, page * PAGE + at)
    }
    return undefined
  }

  open(above: Open, place: number, child: Child): Open {
    const known = this.byPath.get(child.path)
    if (known !== undefined) return known
    const open = fresh(child.path, above.depth + 1, place, above, child.child_count)
    this.byPath.set(child.path, open)
    const behind = above.open.findIndex((other) => other.index > place)
    above.open.splice(behind < 0 ? above.open.length : behind, 0, open)
    grow(above, open.rows)
    return open
  }

  close(open: Open): void {
    if (open.above === undefined) return
    grow(open.above, -open.rows)
    open.above.open.splice(open.above.open.indexOf(open), 1)
    const gone = [open]
    for (let one = gone.pop(); one !== undefined; one = gone.pop()) {
      this.byPath.delete(one.path)
      gone.push(...one.open)
    }
  }

  /** Takes a page in. Open children keep open where they are now; those that are gone are closed. */
  load(above: Open, page: number, count: number, children: Child[]): void {
    if (this.byPath.get(above.path) !== above) return
    if (count !== above.count) {
      grow(above, count - above.count)
      above.count = count
      const last = Math.max(0, Math.ceil(count / PAGE) - 1)
      for (const known of [...above.pages.keys()]) if (known > last) above.pages.delete(known)
    }
    above.pages.set(page, children)
    above.stale.delete(page)
    const places = new Map(children.map((child, at) => [child.path, page * PAGE + at]))
    for (const open of [...above.open]) {
      const place = places.get(open.path)
      const child = place === undefined ? undefined : children[place - page * PAGE]
      if (place !== undefined && child !== undefined) {
        open.index = place
        // Its own page says so too, but may never be asked for: a node without children has none.
        if (child.child_count !== open.count) {
          if (child.child_count === 0) this.close(open)
          else this.stale(open)
        }
      } else if (Math.floor(open.index / PAGE) === page || open.index >= count) {
        this.close(open)
      }
    }
    above.open.sort((left, right) => left.index - right.index)
  }

  /** Another version is to be shown: what is there stays until its page is loaded again. */
  staleAll(): void {
    for (const open of this.byPath.values()) this.stale(open)
  }

  stale(open: Open): void {
    for (const page of open.pages.keys()) open.stale.add(page)
  }

  /** Must this page be asked for? */
  wants(above: Open, page: number): boolean {
    return !above.pages.has(page) || above.stale.has(page)
  }
}

function fresh(
  path: string, depth: number, index: number, above: Open | undefined, count: number,
): Open {
  const [pages, stale] = [new Map<number, Child[]>(), new Set<number>()]
  return { path, depth, index, above, count, rows: count, pages, stale, open: [] }
}

function grow(open: Open, by: number): void {
  for (let one: Open | undefined = open; one !== undefined; one = one.above) one.rows += by
}

/** What the row `left` rows below an open node's first child is: a child, or in an open one. */
function within(above: Open, left: number): { place: number; open?: Open; rest: number } {
  let skipped = 0
  for (const open of above.open) {
    const row = open.index + skipped
    if (left < row) break
    if (left === row) return { place: open.index, open, rest: -1 }
    if (left <= row + open.rows) return { place: open.index, open, rest: left - row - 1 }
    skipped += open.rows
  }
  return { place: left - skipped, rest: -1 }
}
