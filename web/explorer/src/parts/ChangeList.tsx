import { useEffect, useState } from 'preact/hooks'
import type { Value } from '../api/types.ts'
import { type ChangeRow, type Piece, type Put, sides, type Sign, wordDiff } from '../model/changes.ts'
import { count } from '../model/value.ts'
import type { App } from '../state/app.ts'
import { PathLink } from './Link.tsx'
import { AttributeName, ValueText } from './Value.tsx'

const SIGNS: Record<Sign, string> = { added: '+', removed: '−', changed: '~', moved: '→' }

/** From here on what was and what is have room side by side. */
const WIDE = '(min-width: 1200px)'

interface Props {
  app: App
  rows: readonly ChangeRow[]
  /** What the older version is called, and the newer one. */
  heads: readonly [old: string, now: string]
}

/** What happened, place by place. */
export function ChangeList({ app, rows, heads: [old, now] }: Props) {
  const isWide = useWide()
  return (
    <>
      {isWide && rows.some(({ puts }) => puts.length > 0) && <p class="sides heads"><span>{old}</span><span>{now}</span></p>}
      <ol class="changes">
        {rows.map((row, at) => <Row key={at} app={app} row={row} isWide={isWide} />)}
      </ol>
    </>
  )
}

function Row({ app, row, isWide }: { app: App; row: ChangeRow; isWide: boolean }) {
  return (
    <li class={`change ${row.sign}`}>
      <span class="sign" title={row.sign}><span aria-hidden="true">{SIGNS[row.sign]}</span><span class="unseen">{row.sign}</span></span>
      <div>
        <p class="place">
          {row.sign === 'removed' ? <span class="path">{row.path}</span> : <PathLink app={app} path={row.path} />}
          {row.from !== undefined && <span class="quiet"> from {row.from}</span>}
          {row.nodes !== undefined && <span class="quiet"> with {count(row.nodes)} nodes</span>}
        </p>
        {row.puts.length > 0 && (
          <dl>
            {row.puts.map((put) => (
              <div key={put.attribute}>
                <dt><AttributeName name={put.attribute} /></dt>
                <dd>{isWide ? <Sides {...put} /> : <Difference {...put} />}</dd>
              </div>
            ))}
          </dl>
        )}
      </div>
    </li>
  )
}

/** What a value was, and beside it what it is. */
function Sides({ old, now }: Put) {
  const pieces = words(old, now)
  if (pieces) return <span class="sides">{sides(pieces).map((side, at) => <Words key={at} pieces={side} />)}</span>
  return (
    <span class="sides">
      <span>{old && <del><ValueText value={old} /></del>}</span>
      <span>{now && <ins><ValueText value={now} /></ins>}</span>
    </span>
  )
}

/** What a value was and is; of two texts, once what both have. */
function Difference({ old, now }: Put) {
  const pieces = words(old, now)
  if (pieces) return <Words pieces={pieces} />
  return (
    <>
      {old && <del><ValueText value={old} /></del>}
      {old && now && <span class="quiet" aria-hidden="true"> → </span>}
      {now && <ins><ValueText value={now} /></ins>}
    </>
  )
}

/** Of two texts that are here whole, the words that went and came. */
function words(old: Value | undefined, now: Value | undefined): Piece[] | undefined {
  const isWhole = (value: Value | undefined) => value?.type === 'text' && value.bytes === undefined
  return isWhole(old) && isWhole(now) ? wordDiff(String(old?.value), String(now?.value)) : undefined
}

function Words({ pieces }: { pieces: readonly Piece[] }) {
  return (
    <span class="value text words">
      {pieces.map(({ kind, text }, at) => {
        if (kind === 'same') return <span key={at}>{text}</span>
        return kind === 'old' ? <del key={at}>{text}</del> : <ins key={at}>{text}</ins>
      })}
    </span>
  )
}

function useWide(): boolean {
  const [isWide, setWide] = useState(() => matchMedia(WIDE).matches)
  useEffect(() => {
    const media = matchMedia(WIDE)
    const look = () => setWide(media.matches)
    look()
    media.addEventListener('change', look)
    return () => media.removeEventListener('change', look)
  }, [])
  return isWide
}
