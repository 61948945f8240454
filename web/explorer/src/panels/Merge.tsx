import { useEffect, useRef, useState } from 'preact/hooks'
import * as api from '../api/client.ts'
import type { Branch, Change, Conflict, Side, Value } from '../api/types.ts'
import { changeRows } from '../model/changes.ts'
import { count } from '../model/value.ts'
import { ChangeList } from '../parts/ChangeList.tsx'
import type { PanelProps } from '../parts/Explorer.tsx'
import { PathLink } from '../parts/Link.tsx'
import { ValueText } from '../parts/Value.tsx'
import { WholeEditor } from '../parts/WholeEditor.tsx'

/** While another value is being written it is not settled: else what was chosen before would be merged. */
type Choice = { take: Side } | { value: Value } | 'writing'

const placeOf = ({ path, attribute }: Conflict) => `${path}\n${attribute ?? ''}`

/** What merging another branch into this one would do; conflicts are settled here. */
export function MergePanel({ app, session }: PanelProps) {
  const [branches, setBranches] = useState<Branch[]>([])
  const [loaded, setLoaded] = useState<api.Seen>()
  const asked = useRef(0)
  const [choices, setChoices] = useState<ReadonlyMap<string, Choice>>(new Map())
  const [prevails, setPrevails] = useState<Side>()
  /** Something was committed since the preview. */
  const [isOld, setOld] = useState(false)
  const { tree, branch: into } = session
  const others = branches.filter(({ name }) => name !== into)
  const from = app.address.merge ?? others[0]?.name
  // Until another one is there, the one before is of other branches: that is not what a button here may merge.
  const preview = loaded?.from === from && loaded?.into === into ? loaded : undefined
  const load = async () => {
    const number = ++asked.current
    const found = from === undefined ? undefined : await app.did(api.preview(tree, from, into))
    // What is chosen stays where the server did not answer: older than the branches, it is not merged.
    if (found === undefined || number !== asked.current) return
    // Who said that all go to one side has not seen others.
    const told = (seen?: api.Seen) => JSON.stringify([seen?.conflict_count, seen?.conflicts])
    if (told(found) !== told(preview)) setPrevails(undefined)
    setLoaded(found)
    setOld(false)
  }
  useEffect(() => void app.did(api.branches(tree)).then((found) => setBranches(found ?? [])), [tree])
  useEffect(() => void load(), [from, into, session.head])
  useEffect(() => all(undefined), [from, into])

  const merge = async () => {
    if (preview === undefined || from === undefined) return
    const resolve = preview.conflicts.flatMap((conflict) => {
      const { path, attribute } = conflict
      const choice = choices.get(placeOf(conflict))
      return choice && choice !== 'writing' ? [{ path, ...(attribute === undefined ? {} : { attribute }), ...choice }] : []
    })
    const settled = { resolve, ...(prevails && { prevails }) }
    const asked = api.merge(tree, preview, settled, app.told(`merged ${from}`))
    const done = await app.did(asked.catch((error: unknown) => {
      if (!(error instanceof api.Problem && [409, 412].includes(error.status))) throw error
      setOld(true)
      return undefined
    }))
    if (done === undefined) return
    app.say(done.changed ? `${from} is merged: revision ${done.revision}` : 'there was nothing to merge')
    session.refresh()
    app.go({ view: 'changes', merge: undefined, at: undefined })
  }
  const choose = (conflict: Conflict, choice: Choice) => setChoices(new Map([...choices, [placeOf(conflict), choice]]))
  /** One side prevails, but for what is chosen one by one after that. */
  const all = (side: Side | undefined) => {
    setPrevails(side)
    setChoices(new Map())
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
  const chosen = preview?.conflicts.flatMap((one) => choices.get(placeOf(one)) ?? []) ?? []
  const writing = chosen.filter((choice) => choice === 'writing').length
  const open = prevails === undefined ? (preview?.conflict_count ?? 0) - chosen.length + writing : writing
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
        <Conflicts preview={preview} choices={choices} prevails={prevails} app={app} onChoose={choose} onAll={all} />
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
            <span class="quiet" role="status">{!isOld && open > 0 && `${count(open)} ${open === 1 ? 'conflict is' : 'conflicts are'} not settled`}</span>
          </p>
        </>
      )}
    </>
  )
}

interface ConflictsProps {
  app: PanelProps['app']
  preview: api.Seen
  choices: ReadonlyMap<string, Choice>
  prevails: Side | undefined
  onChoose: (conflict: Conflict, choice: Choice) => void
  onAll: (side: Side) => void
}

function Conflicts({ app, preview, choices, prevails, onChoose, onAll }: ConflictsProps) {
  const { conflicts, conflict_count: many, from, into } = preview
  const choice = (conflict: Conflict): Choice | undefined => (
    choices.get(placeOf(conflict)) ?? (prevails && { take: prevails })
  )
  return (
    <>
      <h2>{count(many)} {many === 1 ? 'conflict' : 'conflicts'}</h2>
      {many > 1 && (
        <p class="actions">
          <button type="button" onClick={() => onAll('ours')}>All as in {from}</button>
          <button type="button" onClick={() => onAll('theirs')}>All as in {into}</button>
        </p>
      )}
      {many > conflicts.length && <p class="quiet">The first {count(conflicts.length)} are shown. The others can be settled as in one of the two.</p>}
      {conflicts.map((conflict) => (
        <ConflictCard key={placeOf(conflict)} app={app} preview={preview} conflict={conflict} choice={choice(conflict)} onChoose={(choice) => onChoose(conflict, choice)} />
      ))}
    </>
  )
}

interface CardProps {
  app: PanelProps['app']
  preview: api.Seen
  conflict: Conflict
  choice: Choice | undefined
  onChoose: (choice: Choice) => void
}

function ConflictCard({ app, preview, conflict, choice, onChoose }: CardProps) {
  const { from, into } = preview
  const { path, attribute, base, ours, theirs } = conflict
  const made = choice === 'writing' ? undefined : choice
  const isKept = made !== undefined && 'value' in made
  const isOwn = choice === 'writing' || isKept
  // What another value begins with, and where all of it is: a preview shows its beginning only.
  const [put, branch, at] = ours.value ? [ours, from, preview.ours] : [theirs, into, preview.theirs]
  const version = { tree: app.session!.tree, branch, at: `${at}` }
  const name = placeOf(conflict)
  const side = (take: Side, branch: string, change: Change) => (
    <label class="side">
      <input type="radio" name={name} checked={made !== undefined && 'take' in made && made.take === take} onChange={() => onChoose({ take })} />
      <span class="whose">{branch}</span>
      <Did change={change} />
    </label>
  )
  return (
    <fieldset class={made ? 'conflict settled' : 'conflict'}>
      <legend><PathLink app={app} path={path} />{attribute && <> · <strong>{attribute}</strong></>} <span class="kind">{conflict.kind}</span></legend>
      {base && <p class="side base"><span class="whose">before</span><ValueText value={base} /></p>}
      {side('ours', from, ours)}
      {side('theirs', into, theirs)}
      {attribute !== undefined && (
        <label class="side">
          <input type="radio" name={name} checked={isOwn} onChange={() => onChoose('writing')} />
          <span class="whose">another</span>
          {isOwn && (
            <WholeEditor
              app={app} version={version} path={put.path} attribute={attribute} value={isKept ? made.value : (put.value ?? { type: 'text', value: '' })}
              label={`${path} ${attribute}`} keep={isKept ? 'Kept' : 'Take this'} onKeep={(value) => onChoose({ value })} onWrite={() => onChoose('writing')}
            />
          )}
        </label>
      )}
    </fieldset>
  )
}

/** What a side did, in words. */
function Did({ change }: { change: Change }) {
  const { op, path, from, value, nodes } = change
  switch (op) {
    case 'put':
      return value ? <ValueText value={value} /> : null
    case 'unset':
      return <em>removed it</em>
    case 'remove':
      return <em>deleted {path}{nodes && nodes > 1 ? ` with ${count(nodes)} nodes` : ''}</em>
    case 'move':
      return <em>moved {from} to {path}</em>
    case 'add':
      return <em>added {path}</em>
    case 'set':
      return <em>replaced {path}</em>
  }
}
