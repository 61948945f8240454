/**
 * Which rows of a long list are drawn, and where.
 *
 * Browsers cannot make an element higher than some 17 to 33 million pixels. A longer list gets the
 * height that they can, and scrolling it goes over more than one row a row.
 */

export const HEIGHT_MAX = 8_000_000

export interface View {
  /** How far the list is scrolled, in pixels. */
  scroll: number
  /** How much of it is seen, in pixels. */
  height: number
  rows: number
  rowHeight: number
}

export interface Window {
  /** The first row that is drawn. */
  first: number
  /** One behind the last. */
  end: number
  /** Where the first one stands, in pixels below the list's beginning. */
  top: number
}

/** How high the list is. */
export function listHeight(rows: number, rowHeight: number): number {
  return Math.min(rows * rowHeight, HEIGHT_MAX)
}

/** How many pixels of rows go by for one that is scrolled. */
function stretch({ rows, rowHeight, height }: View): number {
  const list = listHeight(rows, rowHeight)
  return list <= height ? 1 : (rows * rowHeight - height) / (list - height)
}

/** The rows that are seen, and some above and below. */
export function window(view: View, margin = 6): Window {
  const { rows, rowHeight, height } = view
  const list = listHeight(rows, rowHeight)
  const scroll = Math.max(0, Math.min(view.scroll, list - height))
  const seen = scroll * stretch(view)
  const first = Math.max(0, Math.floor(seen / rowHeight) - margin)
  const end = Math.min(rows, Math.ceil((seen + height) / rowHeight) + margin)
  return { first, end, top: scroll - (seen - first * rowHeight) }
}

/** How far to scroll so that a row is seen: no further than needed. */
export function scrollTo(view: View, row: number): number {
  const by = stretch(view)
  const seen = view.scroll * by
  const [top, bottom] = [row * view.rowHeight, (row + 1) * view.rowHeight]
  if (top < seen) return top / by
  if (bottom > seen + view.height) return (bottom - view.height) / by
  return view.scroll
}
