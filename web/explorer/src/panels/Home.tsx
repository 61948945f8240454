import { useState } from 'preact/hooks'
import * as api from '../api/client.ts'
import type { Tree } from '../api/types.ts'
import { count } from '../model/value.ts'
import { ago, clock } from '../model/words.ts'
import { Dialog } from '../parts/Dialog.tsx'
import { Link } from '../parts/Link.tsx'
import type { App } from '../state/app.ts'
import { discard } from '../state/drafts.ts'
import { Cluster } from './Cluster.tsx'

type Asked = { what: 'rename' | 'delete'; tree: Tree } | undefined

/** The trees. */
export function Home({ app }: { app: App }) {
  const [name, setName] = useState('')
  const [asked, ask] = useState<Asked>()
  const { trees } = app
  const creates = app.me?.creates ?? true
  const create = async (event: SubmitEvent) => {
    event.preventDefault()
    if (name.trim() === '') return
    const made = await app.did(api.createTree(name.trim()))
    if (made) app.go({ tree: made.name, path: '/' })
  }
  return (
    <main class="home-page">
      <h1 tabIndex={-1}>Trees</h1>
      {creates && <form class="line" onSubmit={create}>
        <input value={name} placeholder="a new tree" aria-label="name of a new tree" onInput={(event) => setName(event.currentTarget.value)} />
        <button type="submit" class="main">Create</button>
      </form>}
      {trees?.length === 0 && <p class="quiet">There are none yet: {creates ? 'the first is made above' : 'none that you may read'}.</p>}
      {trees && trees.length > 0 && (
        <table class="trees">
          <thead>
            <tr><th>name</th><th class="number">nodes</th><th class="number wide">revision</th><th class="wide">changed</th><th><span class="unseen">actions</span></th></tr>
          </thead>
          <tbody>
            {trees.map((tree) => (
              <tr key={tree.name}>
                <td><Link app={app} class="tree-link" to={{ tree: tree.name, path: '/', view: 'node' }}>{tree.name}</Link></td>
                <td class="number">{tree.nodes === undefined ? <span class="quiet">a part</span> : count(tree.nodes)}</td>
                <td class="number wide">{tree.revision}</td>
                <td class="quiet wide" title={clock(tree.time)}>{ago(tree.time, Date.now())}</td>
                <td class="row-actions">
                  {creates && <button type="button" class="link" aria-label={`rename ${tree.name}`} onClick={() => ask({ what: 'rename', tree })}>rename</button>}
                  {creates && <button type="button" class="link" aria-label={`delete ${tree.name}`} onClick={() => ask({ what: 'delete', tree })}>delete</button>}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {/* A stranger who asks for it is led to where one logs in. */}
      {app.me && !app.isStranger && <Cluster />}
      <p class="quiet"><a href="/boards">Boards</a> are trees, too. Programs use <a href="/openapi.json">the HTTP interface</a>.</p>
      {asked && <Question app={app} asked={asked} onClose={() => ask(undefined)} />}
    </main>
  )
}

function Question({ app, asked: { what, tree }, onClose }: { app: App; asked: NonNullable<Asked>; onClose: () => void }) {
  const [name, setName] = useState(tree.name)
  const drafts = app.drafts.ofTree(tree.name)
  const chosen = app.settling.ofTree(tree.name)
  const remove = async () => {
    const isGone = await app.did(api.deleteTree(tree.name).then(() => true))
    if (isGone) {
      drafts.forEach(discard)
      for (const one of chosen) app.settling.discard(one)
    }
    return isGone
  }
  const rename = async () => {
    const renamed = await app.did(api.renameTree(tree.name, name))
    if (renamed) {
      app.drafts.rename(tree.name, renamed.name)
      app.settling.rename(tree.name, renamed.name)
    }
    return renamed
  }
  const act = async () => {
    if (!await (what === 'delete' ? remove() : rename())) return
    onClose()
    await app.loadTrees()
  }
  if (what === 'delete') {
    return (
      <Dialog app={app} title={`Delete ${tree.name}?`} does="Delete" isBad onDo={act} onClose={onClose}>
        <p>All {tree.nodes !== undefined && `${count(tree.nodes)} `}nodes go, with their history, branches and tags. That cannot be taken back.</p>
        {drafts.length > 0 && <p>What you wrote there and have not saved goes, too.</p>}
        {chosen.length > 0 && <p>What you chose for conflicts there goes, too.</p>}
      </Dialog>
    )
  }
  return (
    <Dialog app={app} title={`Rename ${tree.name}`} does="Rename" onDo={act} onClose={onClose}>
      <label>New name <input value={name} autofocus onInput={(event) => setName(event.currentTarget.value)} /></label>
    </Dialog>
  )
}
