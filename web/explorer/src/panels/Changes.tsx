import { useEffect, useState } from 'preact/hooks'
import * as api from '../api/client.ts'
import type { Change } from '../api/types.ts'
import { changeRows, marks, type Sign } from '../model/changes.ts'
import { count } from '../model/value.ts'
import { clock } from '../model/words.ts'
import { ChangeList } from '../parts/ChangeList.tsx'
import type { PanelProps } from '../parts/Explorer.tsx'
import { Person } from '../parts/Person.tsx'
import { Undo } from './Undo.tsx'

interface Loaded {
  from: number
  to: number
  total: number
  changes: Change[]
  next: number | null
}

/** What happened between two revisions: the one that is shown, and an older one. */
export function ChangesPanel({ app, session }: PanelProps) {
  const [loaded, setLoaded] = useState<Loaded>()
  const { revisions, place } = session
  const [sought, seek] = useState<number>()
  const wanted = app.address.from
  const to = session.upTo(session.revision)
  const before = session.before(to)
  const found = wanted === undefined ? before : session.upTo(Math.min(wanted, session.revision))
  const from = found ?? session.first
  const isMissing = wanted !== undefined && wanted === sought && found === undefined

  useEffect(() => {
    if (wanted !== undefined) void app.did(session.find(wanted).then(() => seek(wanted)))
  }, [wanted])

  useEffect(() => {
    if (from === undefined || to === undefined) return
    const stop = new AbortController()
    api.diff(session.tree, session.branch, `${from.revision}`, `${to.revision}`, 0, stop.signal).then((page) => {
      setLoaded({ ...page, from: from.revision, to: to.revision })
    }, (error: unknown) => stop.signal.aborted || app.failed(error))
    return () => stop.abort()
  }, [from?.revision, to?.revision])

  const rows = changeRows(loaded?.changes ?? [])
  useEffect(() => {
    session.marks = marks(rows)
    app.changed()
  }, [loaded])

  const missing = isMissing && <p>Revision {wanted} is not in the history, or not any more.</p>
  if (from === undefined || to === undefined) return missing && <><h1 tabIndex={-1}>Changes</h1>{missing}</>
  const more = async () => {
    if (!loaded?.next) return
    const page = await app.did(api.diff(session.tree, session.branch, `${from.revision}`, `${to.revision}`, loaded.next))
    if (page) setLoaded((now) => (now === loaded ? { ...loaded, next: page.next, changes: [...loaded.changes, ...page.changes] } : now))
  }
  // What is shown may be of other revisions until that of these is there.
  const isCurrent = loaded?.from === from.revision && loaded.to === to.revision
  return (
    <>
      <h1 tabIndex={-1}>Changes</h1>
      {missing}
      <div class="compare">
        {place >= 0 && (
          <label>
            <span>from</span>
            <input
              type="range" min={0} max={place} value={Math.max(0, revisions.indexOf(from))} aria-label="compare with revision" aria-valuetext={`revision ${from.revision}`}
              onInput={(event) => app.go({ from: revisions[Number(event.currentTarget.value)]!.revision }, 'replace')}
            />
          </label>
        )}
        <p><strong>{from.revision}</strong> <span class="quiet">{clock(from.time)}</span> <Person name={from.author} /> {from.message}</p>
        <p><strong>{to.revision}</strong> <span class="quiet">{clock(to.time)}</span> <Person name={to.author} /> {to.message}</p>
      </div>
      {loaded && (
        <>
          <Totals signs={rows.map(({ sign }) => sign)} isAll={loaded.next === null} total={loaded.total} />
          <ChangeList app={app} rows={rows} heads={[`revision ${loaded.from}`, `revision ${loaded.to}`]} />
          {isCurrent && loaded.next !== null && <button type="button" onClick={() => void more()}>More</button>}
          {isCurrent && <Undo key={to.revision} app={app} session={session} revision={to.revision} isOne={from === before} />}
        </>
      )}
    </>
  )
}

const NAMES: Sign[] = ['added', 'removed', 'changed', 'moved']

function Totals({ signs, isAll, total }: { signs: Sign[]; isAll: boolean; total: number }) {
  if (signs.length === 0) return <p class="quiet">Nothing differs.</p>
  return (
    <p class="totals">
      {NAMES.map((name) => [name, signs.filter((sign) => sign === name).length] as const)
        .filter(([, many]) => many > 0)
        .map(([name, many]) => <span key={name} class={name}>{count(many)} {name}</span>)}
      {!isAll && <span class="quiet">of {count(total)} changes</span>}
    </p>
  )
}
