/** The picture of a small subtree: where its nodes stand. */

export interface Bough {
  path: string
  label: string
  text: string
  /** Children that are not in the picture. */
  more: number
  boughs: Bough[]
}

export interface Placed {
  bough: Bough
  x: number
  y: number
}

export interface Picture {
  nodes: Placed[]
  lines: { from: Placed; to: Placed }[]
  width: number
  height: number
}

export const COLUMN = 190
export const LINE = 34

/** Levels go to the right, leaves downwards; a node stands in the middle of its children. */
export function layout(root: Bough): Picture {
  const picture: Picture = { nodes: [], lines: [], width: 0, height: 0 }
  let leaves = 0
  const place = (bough: Bough, depth: number): Placed => {
    const placed = { bough, x: depth * COLUMN, y: 0 }
    picture.nodes.push(placed)
    const below = bough.boughs.map((one) => place(one, depth + 1))
    const [first, last] = [below[0], below.at(-1)]
    placed.y = first && last ? (first.y + last.y) / 2 : leaves++ * LINE
    for (const to of below) picture.lines.push({ from: placed, to })
    picture.width = Math.max(picture.width, placed.x + COLUMN)
    return placed
  }
  place(root, 0)
  picture.height = leaves * LINE
  return picture
}
