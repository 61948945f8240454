import { useState } from 'preact/hooks'
import * as api from '../api/client.ts'
import type { Revision } from '../api/types.ts'
import { ago, clock } from '../model/words.ts'
import type { PanelProps } from '../parts/Explorer.tsx'
import { Link } from '../parts/Link.tsx'
import { Person } from '../parts/Person.tsx'
import { focus } from '../state/focus.ts'

/** Revisions that are listed at a time. */
const STEP = 100

/** All revisions, the newest first: who, when, what. */
export function HistoryPanel({ app, session }: PanelProps) {
  const [many, setMany] = useState(STEP)
  const { revisions } = session
  const listed = revisions.slice(-many).reverse()
  const more = async () => {
    if (many >= revisions.length) await app.did(session.loadRevisions())
    setMany(many + STEP)
  }
  return (
    <>
      <h1 tabIndex={-1}>History</h1>
      <ol class="history">
        {listed.map((one) => (
          <Line key={one.revision} app={app} session={session} one={one} isShown={one === revisions[session.place]} />
        ))}
      </ol>
      {(many < revisions.length || session.older !== null) && <button type="button" onClick={() => void more()}>More</button>}
    </>
  )
}

function Line({ app, session, one, isShown }: PanelProps & { one: Revision; isShown: boolean }) {
  const isNewest = one.revision === session.head
  return (
    <li class={isShown ? 'shown-now' : ''}>
      <Link app={app} class="number" to={{ at: isNewest ? undefined : one.revision }} isCurrent={isShown}>{one.revision}</Link>
      <span class="what">
        <span class="message">{one.message ?? <em class="quiet">no message</em>}</span>
        {one.tags.map((tag) => <span key={tag} class="tag">{tag}</span>)}
        <span class="who-when">
          <Person name={one.author} />
          <time dateTime={one.time} title={clock(one.time)}>{ago(one.time, Date.now())}</time>
        </span>
      </span>
      <span class="row-actions">
        <Link app={app} label={`changes of revision ${one.revision}`} to={{ view: 'changes', at: isNewest ? undefined : one.revision, from: undefined }}>changes</Link>
        {app.mayBranch && <TagButton app={app} session={session} one={one} />}
      </span>
    </li>
  )
}

function TagButton({ app, session, one }: PanelProps & { one: Revision }) {
  const [name, setName] = useState<string>()
  if (name === undefined) return <button type="button" class="link" aria-label={`tag revision ${one.revision}`} onClick={() => setName('')}>tag</button>
  const submit = async (event: SubmitEvent) => {
    event.preventDefault()
    if (name !== '') {
      const made = await app.did(api.createTag(session.tree, name, `${one.revision}`))
      if (made === undefined) return
      one.tags = [...one.tags, name]
    }
    setName(undefined)
    app.changed()
  }
  return (
    <form onSubmit={submit}>
      <input class="short" aria-label={`tag for revision ${one.revision}`} placeholder="tag" value={name} ref={focus} onInput={(event) => setName(event.currentTarget.value)} onKeyDown={(event) => { if (event.key === 'Escape') setName(undefined) }} />
    </form>
  )
}
