import { useEffect, useState } from 'preact/hooks'
import * as api from '../api/client.ts'
import type { Branch, Change, Conflict, Preview, Resolve, Value } from '../api/types.ts'
import { changeRows } from '../model/changes.ts'
import { count } from '../model/value.ts'
import { ChangeList } from '../parts/ChangeList.tsx'
import type { PanelProps } from '../parts/Explorer.tsx'
import { PathLink } from '../parts/Link.tsx'
import { ValueEditor, ValueText } from '../parts/Value.tsx'

type Choice = { take: 'ours' | 'theirs' } | { value: Value }
type Loaded = Preview & { tag: string }

const placeOf = ({ path, attribute }: Conflict) => `${path}\n${attribute ?? ''}`

/** What merging another branch into this one would do; conflicts are settled here. */
export function MergePanel({ app, session }: PanelProps) {
  const [branches, setBranches] = useState<Branch[]>([])
  const [preview, setPreview] = useState<Loaded>()
  const [choices, setChoices] = useState<ReadonlyMap<string, Choice>>(new Map())
  const { tree, branch: into } = session
  const others = branches.filter(({ name }) => name !== into)
  const from = app.address.merge ?? others[0]?.name
  const load = async () => {
    const found = from === undefined ? undefined : await app.did(api.preview(tree, from, into))
    setPreview(found)
  }
  useEffect(() => void app.did(api.branches(tree)).then((found) => setBranches(found ?? [])), [tree])
  useEffect(() => void load(), [from, into, session.head])
  useEffect(() => setChoices(new Map()), [from, into])

  const merge = async () => {
    if (preview === undefined || from === undefined) return
    const resolve = preview.conflicts.map((conflict): Resolve => {
      const { path, attribute } = conflict
      const place = attribute === undefined ? { path } : { path, attribute }
      return { ...place, ...choices.get(placeOf(conflict)) }
    })
    const done = await app.did(api.merge(tree, from, into, resolve, preview.tag, app.told(`merged ${from}`)))
    if (done === undefined) return load()
    app.say(done.changed ? `${from} is merged: revision ${done.revision}` : 'there was nothing to merge')
    session.refresh()
    app.go({ view: 'changes', merge: undefined, at: undefined })
  }
  const choose = (conflicts: Conflict[], choice: Choice) => {
    setChoices(new Map([...choices, ...conflicts.map((one) => [placeOf(one), choice] as const)]))
  }
  if (branches.length > 0 && others.length === 0) {
    return (
      <>
        <h1 tabIndex={-1}>Merge</h1>
        <p class="quiet">There is no other branch. One is made under “Branches”.</p>
      </>
    )
  }
  const open = preview?.conflicts.filter((one) => !choices.has(placeOf(one))).length ?? 0
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
        <Conflicts preview={preview} choices={choices} app={app} onChoose={choose} />
      )}
      {preview && (
        <>
          <h2>{count(preview.total)} {preview.total === 1 ? 'change' : 'changes'}</h2>
          <ChangeList app={app} rows={changeRows(preview.changes)} />
          {preview.total > preview.changes.length && <p class="quiet">… and {count(preview.total - preview.changes.length)} more.</p>}
          <p class="actions sticky">
            <button type="button" class="main" disabled={open > 0 || (preview.total === 0 && preview.conflicts.length === 0)} onClick={() => void merge()}>Merge {from} into {into}</button>
            {open > 0 && <span class="quiet">{open} {open === 1 ? 'conflict is' : 'conflicts are'} not settled</span>}
          </p>
        </>
      )}
    </>
  )
}

interface ConflictsProps {
  app: PanelProps['app']
  preview: Loaded
  choices: ReadonlyMap<string, Choice>
  onChoose: (conflicts: Conflict[], choice: Choice) => void
}

function Conflicts({ app, preview, choices, onChoose }: ConflictsProps) {
  const { conflicts, from, into } = preview
  return (
    <>
      <h2>{conflicts.length} {conflicts.length === 1 ? 'conflict' : 'conflicts'}</h2>
      {conflicts.length > 1 && (
        <p class="actions">
          <button type="button" onClick={() => onChoose(conflicts, { take: 'ours' })}>All as in {from}</button>
          <button type="button" onClick={() => onChoose(conflicts, { take: 'theirs' })}>All as in {into}</button>
        </p>
      )}
      {conflicts.map((conflict) => (
        <ConflictCard key={placeOf(conflict)} app={app} conflict={conflict} from={from} into={into} choice={choices.get(placeOf(conflict))} onChoose={(choice) => onChoose([conflict], choice)} />
      ))}
    </>
  )
}

interface CardProps {
  app: PanelProps['app']
  conflict: Conflict
  from: string
  into: string
  choice: Choice | undefined
  onChoose: (choice: Choice) => void
}

function ConflictCard({ app, conflict, from, into, choice, onChoose }: CardProps) {
  const { path, attribute, base, ours, theirs } = conflict
  const [isOwn, own] = useState(false)
  const name = placeOf(conflict)
  const side = (take: 'ours' | 'theirs', branch: string, change: Change) => (
    <label class="side">
      <input type="radio" name={name} checked={!isOwn && choice !== undefined && 'take' in choice && choice.take === take} onChange={() => { own(false); onChoose({ take }) }} />
      <span class="whose">{branch}</span>
      <Did change={change} />
    </label>
  )
  return (
    <fieldset class={choice ? 'conflict settled' : 'conflict'}>
      <legend><PathLink app={app} path={path} />{attribute && <> · <strong>{attribute}</strong></>} <span class="kind">{conflict.kind}</span></legend>
      {base && <p class="side base"><span class="whose">before</span><ValueText value={base} /></p>}
      {side('ours', from, ours)}
      {side('theirs', into, theirs)}
      {attribute !== undefined && (
        <label class="side">
          <input type="radio" name={name} checked={isOwn} onChange={() => own(true)} />
          <span class="whose">another</span>
          {isOwn && <ValueEditor value={choice && 'value' in choice ? choice.value : (ours.value ?? theirs.value ?? { type: 'text', value: '' })} label={`${path} ${attribute}`} keep={choice && 'value' in choice ? 'Kept' : 'Take this'} onKeep={(value) => onChoose({ value })} />}
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
