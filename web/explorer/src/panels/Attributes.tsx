import { useEffect, useState } from 'preact/hooks'
import * as api from '../api/client.ts'
import type { Edit, Node, Value } from '../api/types.ts'
import { count, guess, same, shown, size } from '../model/value.ts'
import type { NodeProps, PanelProps } from '../parts/Explorer.tsx'
import { AttributeName, ValueText } from '../parts/Value.tsx'
import { WholeEditor, wholeValue } from '../parts/WholeEditor.tsx'
import { closeUntouched, type Draft, type Editing } from '../state/drafts.ts'

/** Letters of an old value that are sent along with the new one: a request may have 2 MiB. */
const TESTED_MAX = 1 << 19

/** Where nothing can be edited, what is written waits. */
const NONE: ReadonlyMap<string, Editing> = new Map()

/** The attributes of a node, each to be edited where it stands. */
export function Attributes({ app, session, node, isRead }: NodeProps & { isRead: boolean }) {
  const draft = app.drafts.of(session.tree, session.branch, node.path)
  useEffect(() => () => closeUntouched(draft), [draft])
  const edits = isRead ? NONE : draft.edits
  const names = Object.keys(node.attributes)
  // What is being written stays, also where others have removed the attribute.
  const others = [...edits.keys()].filter((name) => !names.includes(name))
  const listed = others.length === 0 ? names : [...names, ...others].sort()
  const edit = (name: string, old: Value) => {
    draft.edits.set(name, { old })
    app.changed()
  }
  const close = (name: string) => {
    draft.edits.delete(name)
    app.changed()
  }
  /** Was it kept? Without an editor it is a new one. */
  const keep = async (name: string, value: Value, editing?: Editing): Promise<boolean> => {
    const typed = editing?.typed
    if (editing) editing.sent = value
    const old = editing?.seen ? editing.seen.now : editing?.old
    const guarded = await app.did(guard(session, node.path, name, old))
    if (guarded === undefined) return false
    const put = { op: 'put' as const, path: node.path, attribute: name, value }
    const said = `${name} = ${shown(value)}`.slice(0, 200)
    const isKept = await app.commit([...guarded.tests, put], said, guarded.tag, session) !== undefined
    if (isKept && editing) {
      settle(draft, name, editing, editing.typed === typed ? undefined : value)
      app.changed()
    }
    void session.select(session.chosen)
    return isKept
  }
  const unset = async (name: string, value: Value) => {
    const { path } = node
    // Nothing that was not seen is removed.
    const guarded = await app.did(allOf(session, node, name, value).then((all) => guard(session, path, name, all)))
    if (guarded) await app.commit([...guarded.tests, { op: 'unset', path, attribute: name }], `without ${name}`, guarded.tag, session)
    void session.select(session.chosen)
  }
  return (
    <>
      <h2>Attributes</h2>
      {listed.length === 0 && <p class="quiet">None.</p>}
      <dl class="attributes">
        {listed.map((name) => {
          const value = node.attributes[name]
          const editing = edits.get(name)
          return (
            <div key={name} class={editing ? 'editing' : ''}>
              <dt><AttributeName name={name} /></dt>
              <dd>
                {editing
                  ? <Edited app={app} session={session} node={node} name={name} editing={editing} onKeep={(next) => void keep(name, next, editing)} onCancel={() => close(name)} />
                  : value && <Shown name={name} value={value} isRead={isRead} onEdit={() => edit(name, value)} />}
              </dd>
              {!editing && value && (
                <dd class="meta">
                  <span class="kind">{value.type}</span>
                  {!isRead && <button type="button" class="plain" aria-label={`remove ${name}`} title="Remove" onClick={() => void unset(name, value)}>×</button>}
                </dd>
              )}
            </div>
          )
        })}
      </dl>
      {node.attributes_next !== undefined && (
        <p class="line">
          <span class="quiet">… and {count(node.attributes_left_out ?? 0)} more: too much to be shown at once.</span>
          <button type="button" onClick={() => void session.moreAttributes()}>More</button>
        </p>
      )}
      {!isRead && <NewAttribute draft={draft} taken={names} onKeep={keep} />}
    </>
  )
}

interface EditedProps extends NodeProps {
  name: string
  editing: Editing
  onKeep: (value: Value) => void
  onCancel: () => void
}

function Edited({ app, session, node, name, editing, onKeep, onCancel }: EditedProps) {
  const now = node.attributes[name]
  const { path } = node
  const isLoaded = editing.old.bytes === undefined
  // Until all of it is there nothing is written, and it is taken as it is by then.
  const old = !isLoaded && now?.bytes !== undefined ? now : editing.old
  /** Was it seen? All of it is needed, for the test that goes with a save. */
  const see = async () => {
    const whole = now?.bytes === undefined ? now : (await app.did(wholeValue(session.shown, path, name, now)))?.value
    if (now !== undefined && whole === undefined) return false
    editing.seen = { now: whole }
    app.changed()
    return true
  }
  const load = (whole: Value) => {
    editing.old = whole
    // It may be newer than the beginning that is shown.
    void session.select(session.chosen)
  }
  return (
    <>
      <WholeEditor
        app={app} version={session.shown} path={path} attribute={name} value={old} typed={editing.typed} label={name}
        isFocused={editing.typed === undefined} onLoad={load} onWrite={(typed) => { editing.typed = typed }}
        onKeep={onKeep} onCancel={onCancel}
      />
      {isLoaded && (now || node.attributes_next === undefined) && <Meanwhile name={name} editing={editing} now={now} onSeen={see} />}
    </>
  )
}

/** Closes the editor of what was kept. Who went on writing meanwhile does so from what is `there` now. */
function settle({ edits }: Draft, name: string, editing: Editing, there: Value | undefined) {
  if (there !== undefined) {
    editing.old = there
    delete editing.seen
  } else if (edits.get(name) === editing) edits.delete(name)
}

/** Letters of what others have made of a value: of a long one a person sees that it is another. */
const TOLD_MAX = 120

/** What others have made of a value that is being edited: a save is refused until that was seen. */
function Meanwhile({ name, editing: { old, seen, sent }, now, onSeen }: { name: string; editing: Editing; now: Value | undefined; onSeen: () => Promise<boolean> }) {
  if (same(now, seen ? seen.now : old) || (now && same(now, sent))) return null
  const goOn = async () => {
    if (!await onSeen()) return
    const fields = [...document.querySelectorAll<HTMLElement>('.editor [aria-label]')]
    fields.find((field) => field.getAttribute('aria-label') === `value of ${name}`)?.focus()
  }
  return (
    <p class="line" role="alert">
      <span>Somebody has {now === undefined ? 'removed it' : <>made it <ValueText value={now} letters={TOLD_MAX} /></>} meanwhile.</span>
      <button type="button" onClick={() => void goOn()}>Write over that</button>
    </p>
  )
}

/** All of a value that may be shown cut, as it is in the revision that is shown. */
async function allOf({ shown }: PanelProps['session'], { path, revision }: Node, attribute: string, value: Value): Promise<Value> {
  if (value.bytes === undefined) return value
  return (await wholeValue({ ...shown, at: `${revision}` }, path, attribute, value)).value
}

/** What keeps somebody else's value from being written over: edits that test, or the version to build upon. */
async function guard(
  { tree, branch }: PanelProps['session'], path: string, attribute: string, old?: Value,
): Promise<{ tests: Edit[]; tag?: string }> {
  if (old === undefined) return { tests: [{ op: 'test', path, attribute, exists: false }] }
  if (String(old.value).length <= TESTED_MAX) return { tests: [{ op: 'test', path, attribute, value: old }] }
  const { value: { value }, tag } = await wholeValue({ tree, branch }, path, attribute, old)
  if (value !== old.value) throw new api.Problem(409, `${path} has another ${attribute} by now`)
  return { tests: [], tag }
}

function Shown({ name, value, isRead, onEdit }: { name: string; value: Value; isRead: boolean; onEdit: () => void }) {
  const content = value.type === 'text'
    ? <span class="value text whole">{String(value.value)}{value.bytes !== undefined && <em class="quiet"> … {size(value.bytes)} in all</em>}{value.value === '' && <em class="quiet">empty</em>}</span>
    : <ValueText value={value} />
  if (isRead) return content
  return <button type="button" class="shown" aria-label={`edit ${name}: ${shown(value)}`} onClick={onEdit}>{content}</button>
}

function NewAttribute({ draft, taken, onKeep }: { draft: Draft; taken: string[]; onKeep: (name: string, value: Value) => Promise<boolean> }) {
  const { name, text } = draft.fresh
  const [, draw] = useState({})
  const write = (part: Partial<Draft['fresh']>) => {
    draft.fresh = { ...draft.fresh, ...part }
    draw({})
  }
  const [isSent, setSent] = useState(false)
  const isTaken = !isSent && name !== '' && taken.includes(name)
  const submit = async (event: SubmitEvent) => {
    event.preventDefault()
    if (name === '' || isTaken || isSent) return
    const form = event.currentTarget as HTMLElement
    setSent(true)
    const isKept = await onKeep(name, guess(text))
    setSent(false)
    if (!isKept) return
    // The next one may be there already.
    if (draft.fresh.name === name) write({ name: '' })
    if (draft.fresh.text === text) write({ text: '' })
    // Who has gone on elsewhere is not led back.
    const { activeElement } = document
    if (activeElement === document.body || form.contains(activeElement)) document.getElementById('new-attribute')?.focus()
  }
  return (
    <form class="line new-attribute" onSubmit={submit}>
      <input id="new-attribute" value={name} placeholder="attribute" aria-label="name of a new attribute" autocomplete="off" spellcheck={false} onInput={(event) => write({ name: event.currentTarget.value })} />
      <input value={text} placeholder="value: 7, 0.5, true, words" aria-label="value of a new attribute" autocomplete="off" spellcheck={false} onInput={(event) => write({ text: event.currentTarget.value })} />
      <span class="kind">{text === '' ? '' : guess(text).type}</span>
      <button type="submit" disabled={name === '' || isTaken}>Add</button>
      {isTaken && <span class="wrong" role="alert">{name} is there already</span>}
    </form>
  )
}
