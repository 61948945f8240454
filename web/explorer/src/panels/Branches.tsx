import { useEffect, useState } from 'preact/hooks'
import * as api from '../api/client.ts'
import type { Branch, Tag } from '../api/types.ts'
import { ago, freeName } from '../model/words.ts'
import { Dialog } from '../parts/Dialog.tsx'
import type { PanelProps } from '../parts/Explorer.tsx'
import { Link } from '../parts/Link.tsx'
import { discard } from '../state/drafts.ts'

/** The branches and tags of a tree. */
export function BranchesPanel({ app, session }: PanelProps) {
  const [branches, setBranches] = useState<Branch[]>()
  const [tags, setTags] = useState<Tag[]>([])
  const [doomed, doom] = useState<string>()
  const { tree } = session
  const load = async () => {
    const found = await app.did(Promise.all([api.branches(tree), api.tags(tree)]))
    if (found === undefined) return
    setBranches(found[0])
    setTags(found[1])
  }
  useEffect(() => void load(), [tree, session.head])
  if (branches === undefined) return null
  const written = doomed === undefined ? [] : app.drafts.within(tree, doomed, '/')
  const chosen = doomed === undefined ? [] : app.settling.ofBranch(tree, doomed)
  const remove = async (name: string) => {
    const isGone = await app.did(api.deleteBranch(tree, name).then(() => true))
    if (!isGone) return load()
    written.forEach(discard)
    for (const one of chosen) app.settling.discard(one)
    app.changed()
    doom(undefined)
    if (app.session !== session) return
    if (name === session.branch) app.go({ branch: 'main', at: undefined })
    else await load()
  }
  const removeTag = async (name: string) => {
    const isGone = await app.did(api.deleteTag(tree, name).then(() => true))
    if (!isGone) return
    for (const one of session.revisions) one.tags = one.tags.filter((tag) => tag !== name)
    await load()
  }
  return (
    <>
      <h1 tabIndex={-1}>Branches</h1>
      <ul class="refs">
        {branches.map(({ name, revision, time }) => (
          <li key={name} class={name === session.branch ? 'here' : ''}>
            <Link app={app} class="ref" to={{ branch: name, at: undefined }} isCurrent={name === session.branch}>{name}</Link>
            <span class="quiet">revision {revision}, {ago(time, Date.now())}</span>
            <span class="row-actions">
              {app.mayBranch && name !== session.branch && <Link app={app} to={{ view: 'merge', merge: name, at: undefined }}>merge into {session.branch}</Link>}
              {app.mayDelete && name !== 'main' && <button type="button" class="link" aria-label={`delete branch ${name}`} onClick={() => doom(name)}>delete</button>}
            </span>
          </li>
        ))}
      </ul>
      {doomed !== undefined && (
        <Dialog app={app} title={`Delete the branch ${doomed}?`} does="Delete" isBad onDo={() => remove(doomed)} onClose={() => doom(undefined)}>
          <p>What was committed to it alone goes with it.</p>
          {written.length > 0 && <p>What you wrote there and have not saved goes, too.</p>}
          {chosen.length > 0 && <p>What you chose for conflicts with it goes, too.</p>}
        </Dialog>
      )}
      {app.mayBranch && <NewBranch app={app} session={session} taken={branches.map(({ name }) => name)} />}
      <h2>Tags</h2>
      {tags.length === 0 && <p class="quiet">None{session.isWhole && ': the history has a button for each revision'}.</p>}
      <ul class="refs">
        {tags.map(({ name, revision }) => (
          <li key={name}>
            <Link app={app} class="ref" to={{ at: revision }}>{name}</Link>
            <span class="quiet">revision {revision}</span>
            <span class="row-actions">{app.mayDelete && <button type="button" class="link" aria-label={`delete tag ${name}`} onClick={() => void removeTag(name)}>delete</button>}</span>
          </li>
        ))}
      </ul>
    </>
  )
}

function NewBranch({ app, session, taken }: PanelProps & { taken: string[] }) {
  const [name, setName] = useState('')
  const create = async (event: SubmitEvent) => {
    event.preventDefault()
    const wanted = name.trim() || freeName('draft', taken)
    const made = await app.did(api.createBranch(session.tree, wanted, `${session.revision}`))
    // Who has gone on to another tree is not led to a branch that it may not have.
    if (made && app.session === session) app.go({ branch: made.name, at: undefined })
  }
  return (
    <form class="line" onSubmit={create}>
      <input value={name} placeholder={freeName('draft', taken)} aria-label="name of a new branch" onInput={(event) => setName(event.currentTarget.value)} />
      <button type="submit" class="main">Branch off revision {session.revision}</button>
    </form>
  )
}
