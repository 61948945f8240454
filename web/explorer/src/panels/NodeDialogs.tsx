import type { ComponentType } from 'preact'
import { useState } from 'preact/hooks'
import type { Attributes, Edit, Node } from '../api/types.ts'
import { canonical, child, keyOf, lastKey, parent } from '../model/path.ts'
import { count, guess } from '../model/value.ts'
import { Dialog } from '../parts/Dialog.tsx'
import type { PanelProps } from '../parts/Explorer.tsx'
import type { Question } from '../state/app.ts'
import { discard } from '../state/drafts.ts'

/**
 * Adding, moving and deleting. Others may delete the node meanwhile: then its answer says so. Who has
 * gone on elsewhere until it is done is not led away: the question is gone, and the way back leads past it.
 */
export function NodeDialogs({ app, session }: PanelProps) {
  const { dialog } = app
  if (dialog === undefined || dialog === 'help') return null
  const { does, node } = dialog
  const Asked = QUESTIONS[does]
  const now = session.node?.path === node.path ? session.node : node
  return <Asked app={app} session={session} node={now} onClose={() => app.ask(undefined)} />
}

interface AskProps extends PanelProps {
  node: Node
  onClose: () => void
}

const PLACES = ['append', 'named', 'before', 'after'] as const
type Place = (typeof PLACES)[number]

function Add({ app, session, node, onClose }: AskProps) {
  const [place, setPlace] = useState<Place>('append')
  const [name, setName] = useState('')
  const [attribute, setAttribute] = useState('text')
  const [text, setText] = useState('')
  const labels: Record<Place, string> = {
    append: 'as the last child', named: 'as a child with a name',
    before: 'as a sibling before it', after: 'as a sibling behind it',
  }
  const isPosition = node.path !== session.top && /^-?\d/.test(lastKey(node.path))
  const places = PLACES.filter((one) => one === 'append' || one === 'named' || isPosition)
  const add = async () => {
    const { address } = app
    const attributes: Attributes = text === '' ? {} : { [attribute]: guess(text) }
    const edits: Record<Place, Edit> = {
      append: { op: 'append', path: node.path, attributes },
      named: { op: 'insert', path: child(node.path, keyOf(name)), attributes },
      before: { op: 'insert_before', path: node.path, attributes },
      after: { op: 'insert_after', path: node.path, attributes },
    }
    const done = await app.commit([edits[place]], text === '' ? `a node ${place === 'named' ? name : ''}`.trim() : `added: ${text}`.slice(0, 200))
    if (done === undefined) return
    const made = done.created?.[0]
    session.refresh()
    if (app.address !== address) return
    onClose()
    if (made) app.reveal(made)
  }
  return (
    <Dialog app={app} title={`Add below ${node.path === '/' ? session.tree : node.path}`} does="Add" onDo={add} onClose={onClose}>
      <label>Where
        <select value={place} onChange={(event) => setPlace(event.currentTarget.value as Place)}>
          {places.map((one) => <option key={one} value={one}>{labels[one]}</option>)}
        </select>
      </label>
      {place === 'named' && <label>Name <input value={name} onInput={(event) => setName(event.currentTarget.value)} /></label>}
      <div class="pair">
        <label>Attribute <input value={attribute} required={text !== ''} onInput={(event) => setAttribute(event.currentTarget.value)} /></label>
        <label>Value <input autofocus value={text} onInput={(event) => setText(event.currentTarget.value)} placeholder="may be left empty" /></label>
      </div>
    </Dialog>
  )
}

function Move({ app, session, node, onClose }: AskProps) {
  const above = parent(node.path) ?? '/'
  const [to, setTo] = useState(node.path)
  const move = async () => {
    if (to === node.path) return onClose()
    const { address } = app
    const done = await app.commit([{ op: 'move', from: node.path, path: to }], `moved from ${node.path}`)
    if (done === undefined) return
    const there = canonical(to)
    app.drafts.move(session.tree, session.branch, node.path, there)
    session.refresh()
    if (app.address !== address) return
    onClose()
    app.reveal(there)
  }
  return (
    <Dialog app={app} title={`Move ${node.path}`} does="Move" onDo={move} onClose={onClose}>
      <label>To the path <input autofocus value={to} spellcheck={false} onInput={(event) => setTo(event.currentTarget.value)} /></label>
      <p class="quiet">It stands below {above} now. A name that has a slash or is a number is written in quotes: /"a/b".</p>
    </Dialog>
  )
}

function Remove({ app, session, node, onClose }: AskProps) {
  const drafts = app.drafts.within(session.tree, session.branch, node.path)
  const remove = async () => {
    const { address } = app
    const done = await app.commit([{ op: 'remove', path: node.path }], `deleted ${node.path}`)
    if (done === undefined) return
    drafts.forEach(discard)
    session.refresh()
    app.say(`${node.path} is deleted; the history has it still`)
    if (app.address !== address) return
    onClose()
    app.go({ path: parent(node.path) ?? '/' }, 'replace')
  }
  return (
    <Dialog app={app} title={`Delete ${node.path}?`} does="Delete" isBad onDo={remove} onClose={onClose}>
      <p>{node.subtree_count > 1 ? `It and the ${count(node.subtree_count - 1)} nodes below it go.` : 'It goes.'} Older revisions keep it.</p>
      {drafts.length > 0 && <p>What you wrote there and have not saved goes, too.</p>}
    </Dialog>
  )
}

const QUESTIONS: Record<Question['does'], ComponentType<AskProps>> = { add: Add, move: Move, remove: Remove }
