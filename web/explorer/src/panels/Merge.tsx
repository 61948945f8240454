import { useEffect, useRef, useState } from 'preact/hooks'
import * as api from '../api/client.ts'
import type { Branch } from '../api/types.ts'
import { changeRows } from '../model/changes.ts'
import { allAs, choose, chosenOf, NOTHING_CHOSEN, openOf, settled } from '../model/conflicts.ts'
import { count } from '../model/value.ts'
import { ChangeList } from '../parts/ChangeList.tsx'
import { Conflicts, type Party, StillOpen } from '../parts/Conflicts.tsx'
import type { PanelProps } from '../parts/Explorer.tsx'
import type { App } from '../state/app.ts'
import { useChoices } from '../state/choices.ts'
import type { Session } from '../state/session.ts'

/** What merging another branch into this one would do; conflicts are settled here. */
export function MergePanel({ app, session }: PanelProps) {
  const [branches, setBranches] = useState<Branch[]>([])
  const { tree, branch: into } = session
  const others = branches.filter(({ name }) => name !== into)
  // Where something is chosen already, one goes on with that.
  const [begun] = useState(() => app.settling.mergeInto(tree, into))
  const from = app.address.merge ?? begun ?? others[0]?.name
  const [choices, setChoices] = useChoices(app, session, { merge: from ?? '' })
  const { preview, isOld, outdate, load } = usePreview(app, session, from, (told) => setChoices((now) => chosenOf(now, told)))
  useEffect(() => void app.did(api.branches(tree)).then((found) => setBranches(found ?? [])), [tree])

  const merge = async () => {
    if (preview === undefined || from === undefined) return
    const asked = api.merge(tree, preview, settled(choices, preview.conflicts), app.told(`merged ${from}`))
    const done = await app.did(asked.catch((error: unknown) => {
      if (!(error instanceof api.Problem && error.status === 412)) throw error
      outdate()
      return undefined
    }))
    if (done === undefined) return
    setChoices(() => NOTHING_CHOSEN)
    app.say(done.changed ? `${from} is merged: revision ${done.revision}` : 'there was nothing to merge')
    session.refresh()
    // Who has gone on elsewhere is not led away.
    if (app.session === session && app.view === 'merge') app.go({ view: 'changes', merge: undefined, at: undefined })
  }
  if (branches.length > 0 && others.length === 0) {
    return (
      <>
        <h1 tabIndex={-1}>Merge</h1>
        <p class="quiet">There is no other branch. One is made under “Branches”.</p>
      </>
    )
  }
  const differs = preview !== undefined && preview.total + preview.conflicts.length > 0
  const open = preview === undefined ? 0 : openOf(choices, preview.conflicts, preview.conflict_count)
  const party = (branch: string, at: number): Party => ({ name: branch, all: `All as in ${branch}`, version: { tree, branch, at: `${at}` } })
  return (
    <>
      <h1 tabIndex={-1}>Merge</h1>
      <p class="line">
        <select aria-label="branch to merge" value={from} onChange={(event) => app.go({ merge: event.currentTarget.value }, 'replace')}>
          {others.map(({ name }) => <option key={name}>{name}</option>)}
        </select>
        <span>into <strong>{into}</strong></span>
      </p>
      {preview && preview.conflicts.length > 0 && (
        <Conflicts
          app={app} sides={{ ours: party(preview.from, preview.ours), theirs: party(preview.into, preview.theirs) }} base="before"
          conflicts={preview.conflicts} total={preview.conflict_count}
          choices={choices} onChoose={(conflict, choice) => setChoices((now) => choose(now, conflict, choice))}
          onAll={(prevails) => setChoices(() => allAs(prevails, preview))}
        />
      )}
      {preview && !differs && <p class="quiet">Nothing to merge: {into} has all that {from} has.</p>}
      {preview && differs && (
        <>
          <h2>{count(preview.total)} {preview.total === 1 ? 'change' : 'changes'}</h2>
          <ChangeList app={app} rows={changeRows(preview.changes)} heads={[into, `${into} with ${from}`]} />
          {preview.total > preview.changes.length && <p class="quiet">… and {count(preview.total - preview.changes.length)} more.</p>}
          <p class="actions sticky">
            {isOld
              ? <button type="button" class="main" onClick={() => void load()}>Preview again</button>
              : <button type="button" class="main" disabled={open > 0} onClick={() => void merge()}>Merge {from} into {into}</button>}
            {isOld && <span class="wrong" role="alert">Nothing was merged: {from} or {into} has changed since, or the server was started again.</span>}
            <StillOpen many={isOld ? 0 : open} />
          </p>
        </>
      )}
    </>
  )
}

/** What a merge would do, told anew when there may be something newer. */
function usePreview(app: App, session: Session, from: string | undefined, onTold: (told: api.Seen) => void) {
  const [loaded, setLoaded] = useState<api.Seen>()
  /** Something was committed since. */
  const [isOld, setOld] = useState(false)
  const asked = useRef(0)
  const { tree, branch: into } = session
  // Until another one is there, the one before is of other branches: that is not what a button here may merge.
  const preview = loaded?.from === from && loaded?.into === into ? loaded : undefined
  const load = async () => {
    const number = ++asked.current
    const found = from === undefined ? undefined : await app.did(api.preview(tree, from, into))
    // What is chosen stays where the server did not answer: older than the branches, it is not merged.
    if (found === undefined || number !== asked.current) return
    onTold(found)
    setLoaded(found)
    setOld(false)
  }
  useEffect(() => void load(), [from, into, session.head])
  return { preview, isOld, outdate: () => setOld(true), load }
}
