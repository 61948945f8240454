import type { Part } from '../model/address.ts'
import type { App } from '../state/app.ts'
import type { Chosen } from '../state/choices.ts'
import { discard, type Draft, written } from '../state/drafts.ts'
import { Link } from './Link.tsx'
import { AttributeName } from './Value.tsx'

/** What is written of nodes, and chosen for conflicts, that are not there to be edited just now: where that is, and what. */
export function Unsaved({ app }: { app: App }) {
  const drafts = app.drafts.written.filter((draft) => !app.isEdited(draft))
  const chosen = app.settling.made.filter((one) => !app.isSettled(one))
  return (
    <div class="unsaved" role="status">
      {drafts.map((draft) => (
        <Line key={`${draft.tree}\n${draft.branch}\n${draft.path}`} app={app} draft={draft} />
      ))}
      {chosen.map((one) => (
        <Unsettled key={`${one.tree}\n${one.branch}\n${JSON.stringify(one.cause)}`} app={app} chosen={one} />
      ))}
    </div>
  )
}

function Line({ app, draft }: { app: App; draft: Draft }) {
  const { tree, branch, path } = draft
  const texts = written(draft)
  const show = () => {
    app.wanted = path
    app.pane = 'panel'
  }
  const giveUp = () => {
    discard(draft)
    app.changed()
  }
  return (
    <div class="line">
      <span>
        Not saved:{' '}
        {texts.map(([name], at) => <span key={at}>{at > 0 && ', '}<strong><AttributeName name={name} /></strong></span>)}
        {' '}of{' '}
        <Link app={app} to={{ tree, branch, path, at: undefined, view: 'node' }} then={show}>
          {path === '/' || tree !== app.address.tree ? tree : ''}{path === '/' ? '' : path}{branch === 'main' ? '' : ` on ${branch}`}
        </Link>
      </span>
      <details>
        <summary>What you wrote</summary>
        {texts.map(([name, text], at) => <textarea key={at} readOnly aria-label={`what you wrote as ${name}`} rows={2} value={text} />)}
      </details>
      <button type="button" onClick={giveUp}>Discard</button>
    </div>
  )
}

function Unsettled({ app, chosen }: { app: App; chosen: Chosen }) {
  const { tree, branch, cause } = chosen
  const isHere = tree === app.address.tree
  const what = 'merge' in cause
    ? `merging ${cause.merge} into ${branch}`
    : `taking back revision ${cause.undo}${branch === 'main' ? '' : ` on ${branch}`}`
  const there: Part = 'merge' in cause
    ? { view: 'merge', merge: cause.merge, at: undefined }
    : { view: 'changes', at: cause.undo, from: undefined }
  const show = () => {
    app.pane = 'panel'
  }
  const giveUp = () => {
    app.settling.discard(chosen)
    app.changed()
  }
  return (
    <div class="line">
      <span>
        Not done: what you chose for the conflicts of{' '}
        <Link app={app} to={{ tree, branch, ...(isHere ? {} : { path: '/' }), ...there }} then={show}>
          {what}{isHere ? '' : ` in ${tree}`}
        </Link>
      </span>
      <button type="button" onClick={giveUp}>Discard</button>
    </div>
  )
}
