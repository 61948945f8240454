import { useEffect, useRef, useState } from 'preact/hooks'
import * as api from '../api/client.ts'
import type { Attributes } from '../api/types.ts'
import { type Bough, COLUMN, layout, LINE } from '../model/graph.ts'
import { lastKey } from '../model/path.ts'
import { count, shown } from '../model/value.ts'
import type { PanelProps } from '../parts/Explorer.tsx'
import { telling } from '../parts/Value.tsx'

/** Nodes in a picture, children of one, and levels. */
const NODES_MAX = 90
const CHILDREN_MAX = 16
const LEVELS_MAX = 4

/** A picture of what is below a node, as far as it fits. */
export function GraphPanel({ app, session }: PanelProps) {
  const [root, setRoot] = useState<Bough>()
  const { path } = app.address
  const [head, begin] = useState(session.head)
  const isDrawing = useRef(false)
  useEffect(() => {
    const stop = new AbortController()
    isDrawing.current = true
    grow(session.shown, path, session.tree, stop.signal).then(setRoot, (error: unknown) => stop.signal.aborted || app.failed(error)).then(() => {
      if (stop.signal.aborted) return
      isDrawing.current = false
      if (session.at === undefined) begin(session.head)
    })
    return () => stop.abort()
  }, [path, session.at, head])
  // A picture that others make old is finished before the next one is begun, or there would be none.
  useEffect(() => {
    if (session.at === undefined && !isDrawing.current) begin(session.head)
  }, [session.at, session.head])
  if (root === undefined) return null
  const { nodes, lines, width, height } = layout(root)
  const [w, h] = [width + 20, height + 20]
  const show = (to: string) => {
    app.wanted = to
    app.go({ path: to })
  }
  return (
    <>
      <h1 tabIndex={-1}>{root.label}</h1>
      <div class="picture" role="region" aria-label="picture" tabIndex={0}>
        <svg width={w} height={h} viewBox={`0 0 ${w} ${h}`} role="group" aria-label={`picture of ${path}`}>
          {lines.map(({ from, to }) => {
            const [x, y, x2, y2] = [from.x + COLUMN - 26, from.y + LINE / 2 + 8, to.x + 8, to.y + LINE / 2 + 8]
            return <path key={to.bough.path} class="bough" d={`M${x} ${y}C${x + 20} ${y} ${x2 - 20} ${y2} ${x2} ${y2}`} />
          })}
          {nodes.map(({ bough, x, y }) => (
            <g key={bough.path} class={bough.path === path ? 'leaf here' : 'leaf'} transform={`translate(${x + 8} ${y + 10})`} tabIndex={0} role="link" aria-label={spoken(bough)} onClick={() => show(bough.path)} onKeyDown={(event) => { if (event.key === 'Enter') show(bough.path) }}>
              <title>{bough.path}</title>
              <rect width={COLUMN - 34} height={LINE - 6} rx="6" />
              <text x="9" y="18"><tspan class="label">{label(bough)}</tspan> <tspan class="text">{text(bough)}</tspan></text>
              {bough.more > 0 && <text class="more" x={COLUMN - 40} y="18" text-anchor="end">+{count(bough.more)}</text>}
            </g>
          ))}
        </svg>
      </div>
    </>
  )
}

const label = (bough: Bough) => clip(bough.label, 12)

const text = (bough: Bough) => clip(bough.text, 19 - Math.min(12, bough.label.length))

/** What is seen, so that who speaks to the browser can say it, and where it is. */
function spoken(bough: Bough): string {
  const more = bough.more > 0 ? ` +${count(bough.more)}` : ''
  return `${label(bough)} ${text(bough)}${more}, ${bough.path}`
}

function clip(text: string, letters: number): string {
  return text.length > letters ? `${text.slice(0, Math.max(1, letters - 1))}…` : text
}

/** Loads level by level, until there are enough for a picture. */
async function grow(version: api.Version, path: string, tree: string, signal: AbortSignal): Promise<Bough> {
  const node = await api.node(version, path, signal)
  const root = bough(path, path === '/' ? tree : lastKey(path), node.attributes, node.child_count)
  let level = [root]
  let many = 1
  for (let depth = 1; depth < LEVELS_MAX; depth += 1) {
    const next: Bough[] = []
    for (const above of level) {
      const room = Math.min(CHILDREN_MAX, NODES_MAX - many)
      if (above.more === 0 || room <= 0) continue
      const { children } = await api.children(version, above.path, 0, room, signal)
      above.boughs = children.map((child) => bough(child.path, child.key, child.attributes, child.child_count))
      above.more -= children.length
      many += children.length
      next.push(...above.boughs)
    }
    level = next
  }
  return root
}

function bough(path: string, label: string, attributes: Attributes, more: number): Bough {
  const first = Object.values(attributes)[0]
  const text = telling(attributes)?.[1] ?? (first ? shown(first) : '')
  return { path, label, text, more, boughs: [] }
}
