import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { PAGE, type Row } from '../model/forest.ts'
import { lastKey, parent } from '../model/path.ts'
import { count } from '../model/value.ts'
import { listHeight, scrollTo, type View, window as visible } from '../model/window.ts'
import type { Session } from '../state/session.ts'
import type { PanelProps } from './Explorer.tsx'
import { Link } from './Link.tsx'
import { Summary } from './Value.tsx'

const ROW_HEIGHT = 28
/** On a phone rows are for fingers. */
const TOUCH_ROW_HEIGHT = 40
/** While one scrolls fast, pages that are gone by are not asked for. */
const SETTLE_MS = 50

/** The tree, of which only the rows that are seen are there. */
export function TreeView({ app, session }: PanelProps) {
  const list = useRef<HTMLDivElement>(null)
  const [scroll, setScroll] = useState(0)
  const height = useHeight(list)
  const { forest } = session
  const rowHeight = matchMedia('(pointer: coarse)').matches ? TOUCH_ROW_HEIGHT : ROW_HEIGHT
  const view: View = { scroll, height, rows: forest.rows, rowHeight }
  const { first, end, top } = visible(view)
  const rows = Array.from({ length: Math.max(0, end - first) }, (_, at) => forest.row(first + at))
  const { path } = app.address
  const dragged = useRef<string | null>(null)

  useLoaded(session, rows)

  const showRow = (row: number) => {
    list.current!.scrollTop = scrollTo({ ...view, rows: forest.rows, scroll: list.current!.scrollTop }, row)
    setScroll(list.current!.scrollTop)
  }

  useEffect(() => {
    const wanted = app.wanted
    if (wanted === undefined || session.head === 0) return
    app.wanted = undefined
    session.reveal(wanted).then((row) => {
      if (row !== undefined) requestAnimationFrame(() => list.current && showRow(row))
    }, app.failed)
  }, [app.wanted, session.head])

  const select = (row: Row) => {
    if (row.node) app.go({ path: row.node.path }, 'replace')
    showRow(row.index)
  }

  const toRow = async (index: number) => {
    const wanted = Math.max(0, Math.min(forest.rows - 1, index))
    const { above, place } = forest.row(wanted)
    showRow(wanted)
    if (above) await session.ensure(above, Math.floor(place / PAGE))
    select(forest.row(wanted))
  }

  const key = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    const page = Math.max(1, Math.floor(height / rowHeight) - 1)
    if (!walk(event.key, { app, session, page, toRow })) return
    event.preventDefault()
    event.stopPropagation()
  }

  const chosen = rows.find((row) => row.node?.path === path)
  return (
    <section class="tree-side" aria-label="tree">
      <Parts app={app} session={session} />
      <div
        id="tree" class="tree" ref={list} role="tree" tabIndex={0} aria-label={`nodes of ${session.tree}`}
        aria-activedescendant={chosen ? `row-${chosen.index}` : undefined}
        onScroll={(event) => setScroll(event.currentTarget.scrollTop)} onKeyDown={key}
      >
        <div class="length" style={{ height: `${listHeight(forest.rows, rowHeight)}px` }}>
          <div class="rows" style={{ transform: `translateY(${top}px)` }}>
            {rows.map((row) => (
              <TreeRow key={row.index === 0 ? '/' : (row.node?.path ?? `#${row.index}`)} app={app} session={session} row={row} isChosen={row.node !== undefined && row.node.path === path} dragged={dragged} onSelect={select} />
            ))}
          </div>
        </div>
      </div>
      <Foot app={app} session={session} />
    </section>
  )
}

/** How high an element is; until that is known, as high as a page may be. */
function useHeight(seen: { current: HTMLElement | null }): number {
  const [height, setHeight] = useState(600)
  useLayoutEffect(() => {
    const element = seen.current!
    const measure = new ResizeObserver(() => setHeight(element.clientHeight))
    measure.observe(element)
    return () => measure.disconnect()
  }, [])
  return height
}

/** Has what is seen loaded, once one stays there. */
function useLoaded(session: Session, rows: readonly Row[]): void {
  useEffect(() => {
    const timer = setTimeout(() => {
      for (const { above, place } of rows) {
        if (above) void session.ensure(above, Math.floor(place / PAGE))
      }
    }, SETTLE_MS)
    return () => clearTimeout(timer)
  })
}

/** Of a tree that one may read in parts: which of them is shown. */
function Parts({ app, session }: PanelProps) {
  if (session.parts.length < 2) return null
  return (
    <nav class="parts" aria-label="parts that you may read">
      {session.parts.map((part) => <Link key={part} app={app} to={{ path: part }} isCurrent={part === session.top} then={() => { app.wanted = part }}>{part}</Link>)}
    </nav>
  )
}

/** How much there is, and of when. */
function Foot({ app, session }: PanelProps) {
  const nodes = session.forest.node?.subtree_count ?? 0
  return (
    <p class="tree-foot">
      {count(nodes)} {nodes === 1 ? 'node' : 'nodes'}
      {session.at !== undefined && <> at revision {session.at}</>}
      {session.at !== undefined && !session.isWhole && <>, <Link app={app} to={{ at: undefined }}>to the newest</Link></>}
    </p>
  )
}

interface Walk extends PanelProps {
  /** How many rows are seen at once. */
  page: number
  toRow: (index: number) => Promise<void>
}

/** Does what a key does in the tree, if it does anything. */
function walk(key: string, { app, session, page, toRow }: Walk): boolean {
  const { forest } = session
  const { path } = app.address
  const at = forest.find(path, parent(path))
  const row = at === undefined ? undefined : forest.row(at)
  const steps: Record<string, number> = {
    ArrowDown: (at ?? -1) + 1, ArrowUp: (at ?? 1) - 1, Home: 0, End: forest.rows - 1,
    PageDown: (at ?? 0) + page, PageUp: (at ?? 0) - page,
  }
  const step = steps[key]
  if (step !== undefined) void toRow(step)
  else if (key === 'ArrowRight' && row?.node) {
    if (row.open || row.node.child_count === 0) {
      if (row.open && row.open.count > 0) void toRow(row.index + 1)
    } else session.toggle(row.above!, row.place, row.node)
  } else if (key === 'ArrowLeft' && row) {
    if (row.open && row.node && row.above) session.toggle(row.above, row.place, row.node)
    else if (row.above) void toRow(forest.find(row.above.path, parent(row.above.path)) ?? 0)
  } else if (key === 'Enter') {
    app.pane = 'panel'
    app.go({ view: 'node' })
    requestAnimationFrame(() => document.querySelector<HTMLElement>('.sheet h1')?.focus())
  } else return false
  return true
}

interface RowProps extends PanelProps {
  row: Row
  isChosen: boolean
  /** The path of the node that is being dragged. */
  dragged: { current: string | null }
  onSelect: (row: Row) => void
}

function TreeRow({ app, session, row, isChosen, dragged, onSelect }: RowProps) {
  const [isOver, setOver] = useState(false)
  const { node, depth, place, siblings, open, above } = row
  const hasChildren = (node?.child_count ?? 0) > 0
  const flash = node === undefined ? 0 : (session.flashes.get(node.path) ?? 0)
  const mark = node === undefined ? undefined : session.marks.get(node.path)
  const toggle = (event: Event) => {
    event.stopPropagation()
    if (node && above && hasChildren) session.toggle(above, place, node)
  }
  const click = () => {
    onSelect(row)
    app.pane = 'panel'
    app.changed()
  }
  const drag = (event: DragEvent) => {
    if (node === undefined || event.dataTransfer === null) return event.preventDefault()
    event.dataTransfer.setData('text/plain', node.path)
    event.dataTransfer.effectAllowed = 'move'
    dragged.current = node.path
  }
  const over = (event: DragEvent) => {
    if (node === undefined || dragged.current === null) return
    event.preventDefault()
    setOver(true)
  }
  const drop = (event: DragEvent) => {
    event.preventDefault()
    setOver(false)
    if (node && dragged.current !== null) void app.moveBelow(dragged.current, node.path)
    dragged.current = null
  }
  const names = ['row', isChosen ? 'chosen' : '', isOver ? 'over' : '', mark ? `mark-${mark}` : '', flash ? `flash-${flash % 2}` : '']
  return (
    <div
      id={`row-${row.index}`} class={names.filter(Boolean).join(' ')} role="treeitem"
      aria-level={depth + 1} aria-posinset={place + 1} aria-setsize={siblings} aria-selected={isChosen}
      aria-expanded={hasChildren ? open !== undefined : undefined}
      style={{ paddingInlineStart: `min(${depth * 16 + 4}px, 40%)` }}
      onClick={click} onDblClick={toggle}
      draggable={node !== undefined && depth > 0 && session.at === undefined}
      onDragStart={drag} onDragOver={over} onDragLeave={() => setOver(false)} onDrop={drop}
      onDragEnd={() => { dragged.current = null }}
    >
      {hasChildren && depth > 0
        ? <span class="twisty" aria-hidden="true" onClick={toggle} onDblClick={(event) => event.stopPropagation()}>{open ? '▾' : '▸'}</span>
        : <span class="twisty none" aria-hidden="true" />}
      {node ? (
        <>
          <span class={depth === 0 ? 'key root' : /^-?\d/.test(node.key) ? 'key position' : 'key'}>
            {depth > 0 ? lastKey(node.path) : session.isWhole ? session.tree : `${session.tree} ${session.top}`}
          </span>
          <Summary attributes={node.attributes} />
          {hasChildren && <span class="count" title={`${count(node.child_count)} children`}>{count(node.child_count)}</span>}
        </>
      ) : <span class="waiting" aria-label="loading" />}
    </div>
  )
}
