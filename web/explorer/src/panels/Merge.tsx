import { useEffect, useState } from 'preact/hooks'
import * as api from '../api/client.ts'
import type { Branch, Change, Conflict, Preview, Resolve, Value } from '../api/types.ts'
import { changeRows } from '../model/changes.ts'
import { count } from '../model/value.ts'
import { ChangeList } from '../parts/ChangeList.tsx'
import type { PanelProps } from '../parts/Explorer.tsx'
import { PathLink } from '../parts/Link.tsx'
import { ValueText } from '../parts/Value.tsx'
import { WholeEditor } from '../parts/WholeEditor.tsx'

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
        <ConflictCard key={placeOf(conflict)} app={app} preview={preview} conflict={conflict} choice={choices.get(placeOf(conflict))} onChoose={(choice) => onChoose([conflict], choice)} />
      ))}
    </>
  )
}

interface CardProps {
  app: PanelProps['app']
  preview: Loaded
  conflict: Conflict
  choice: Choice | undefined
  onChoose: (choice: Choice) => void
}

function ConflictCard({ app, preview, conflict, choice, onChoose }: CardProps) {
  const { from, into } = preview
  const { path, attribute, base, ours, theirs } = conflict
  const [isOwn, own] = useState(false)
  const isKept = choice !== undefined && 'value' in choice
  // What another value begins with, and where all of it is: a preview shows its beginning only.
  const [put, branch, at] = ours.value ? [ours, from, preview.ours] : [theirs, into, preview.theirs]
  const version = { tree: app.session!.tree, branch, at: `${at}` }
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
          {isOwn && (
            <WholeEditor
              app={app} version={version} path={put.path} attribute={attribute} value={isKept ? choice.value : (put.value ?? { type: 'text', value: '' })}
              label={`${path} ${attribute}`} keep={isKept ? 'Kept' : 'Take this'} onKeep={(value) => onChoose({ value })}
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
