import type { Node } from '../api/types.ts'
import { ancestors, isWithin, lastKey } from '../model/path.ts'
import { count } from '../model/value.ts'
import type { PanelProps } from '../parts/Explorer.tsx'
import { Link } from '../parts/Link.tsx'
import { telling } from '../parts/Value.tsx'
import type { Question } from '../state/app.ts'
import { Attributes } from './Attributes.tsx'
import { Programs } from './Programs.tsx'

/** A node: its attributes, and what can be done with it. */
export function NodePanel({ app, session }: PanelProps) {
  const { node, missing } = session
  const isPast = app.address.at !== undefined
  const isRead = isPast || !app.mayEdit
  if (node === undefined) {
    if (missing === undefined) return null
    return (
      <div class="empty">
        <h1 tabIndex={-1}>{app.address.path}</h1>
        <p>{untold(missing.status, app.address.at)}: {missing.message}.</p>
      </div>
    )
  }
  const open = (does: Question['does']) => () => app.ask({ does, node })
  return (
    <>
      <Breadcrumbs app={app} session={session} path={node.path} />
      <Title node={node} tree={session.tree} />
      <p class="facts">
        {node.child_count === 0 ? 'no children' : node.child_count === 1 ? 'one child' : `${count(node.child_count)} children`}
        {node.subtree_count > node.child_count + 1 && <> · {count(node.subtree_count)} nodes in all</>}
      </p>
      {!isRead && (
        <p class="actions">
          <button type="button" onClick={open('add')}>Add a child</button>
          {node.path !== session.top && <button type="button" onClick={open('move')}>Move</button>}
          {node.path !== session.top && <button type="button" class="bad" onClick={open('remove')}>Delete</button>}
        </p>
      )}
      <Attributes key={`${node.path}\n${session.at ?? ''}`} app={app} session={session} node={node} isRead={isRead} />
      {!isPast && isRead && <p class="quiet">You may read this tree, and not change it.</p>}
      <Programs app={app} session={session} node={node} />
    </>
  )
}

/** Why there is no node, by the status of the answer. */
function untold(status: number, at: number | undefined): string {
  if (status === 403) return 'Not yours to read'
  if (status !== 404 && status !== 410) return 'Not loaded'
  return `Not there ${at === undefined ? 'any more' : `at revision ${at}`}`
}

/** A position says little: what the node is called by its attributes says more. */
function Title({ node, tree }: { node: Node; tree: string }) {
  const key = node.path === '/' ? tree : lastKey(node.path)
  const called = telling(node.attributes)?.[1]
  const isPosition = node.path !== '/' && /^-?\d/.test(key)
  return (
    <h1 tabIndex={-1}>
      {isPosition && called ? <><span class="position">{key}</span> {called}</> : key}
    </h1>
  )
}

function Breadcrumbs({ app, session, path }: PanelProps & { path: string }) {
  return (
    <nav class="crumbs" aria-label="path">
      {ancestors(path).map((at, index) => (
        <span key={at}>
          {index > 0 && <span class="slash" aria-hidden="true">/</span>}
          {isWithin(at, session.top)
            ? <Link app={app} to={{ path: at }} isCurrent={at === path} then={() => { app.wanted = at }}>{index === 0 ? session.tree : lastKey(at)}</Link>
            : <span class="quiet">{index === 0 ? session.tree : lastKey(at)}</span>}
        </span>
      ))}
    </nav>
  )
}
