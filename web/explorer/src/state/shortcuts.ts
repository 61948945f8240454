/** Keys that work wherever nothing is being written. */

import type { View } from '../model/address.ts'
import type { App, Question } from './app.ts'

const VIEW_KEYS: Record<string, View> = {
  n: 'node', g: 'graph', c: 'changes', h: 'history', b: 'branches', e: 'merge',
}

const QUESTION_KEYS: Record<string, Question['does']> = { a: 'add', m: 'move', Delete: 'remove' }

type Shortcut = readonly [keys: string, what: string]

/** Those that do something here, in words. */
export function shortcuts(app: App): Shortcut[] {
  const { session } = app
  const everywhere: Shortcut[] = [['?', 'these keys']]
  if (app.said.all.length > 0) everywhere.push(['Escape', 'dismiss what was said'])
  if (session === undefined) return everywhere
  const views = Object.entries(VIEW_KEYS).filter(([, view]) => session.offers(view))
  const known: (Shortcut | false)[] = [
    ['↑ ↓', 'the row above, below'],
    ['→ ←', 'open, close; into, out of'],
    ['Home End', 'the first row, the last'],
    ['Enter', 'to the node beside the tree'],
    mayEdit(app) && ['a', 'add a child'],
    mayEdit(app) && !isTop(app) && ['m', 'move the node'],
    mayEdit(app) && !isTop(app) && ['Delete', 'delete the node'],
    session.isWhole && ['[ ]', 'an older revision, a newer one'],
    ['0', 'the newest revision'],
    ['t', 'to the tree'],
    ['/', 'search'],
    [views.map(([key]) => key).join(' '), views.map(([, view]) => view).join(', ')],
    ...everywhere,
  ]
  return known.filter((one) => one !== false)
}

const mayEdit = (app: App) => app.mayEdit && app.address.at === undefined && app.session?.node !== undefined

/** Is it the tree, or the part, itself? That one stays. */
const isTop = ({ session }: App) => session?.node?.path === session?.top

export function onKey(app: App, event: KeyboardEvent): void {
  const target = event.target as HTMLElement
  const isWriting = target.matches('input:not([type=range]), textarea, select') || target.isContentEditable
  if (isWriting || event.ctrlKey || event.metaKey || event.altKey) return
  if (document.querySelector('dialog[open]')) return
  if (act(app, event.key)) event.preventDefault()
}

function act(app: App, key: string): boolean {
  if (key === '?') {
    app.ask('help')
    return true
  }
  if (key === 'Escape') {
    if (app.said.all.length === 0) return false
    app.said.dismissAll()
    return true
  }
  const { session } = app
  if (session === undefined) return false
  const view = VIEW_KEYS[key]
  if (view !== undefined) {
    if (!session.offers(view)) return false
    app.pane = 'panel'
    app.go({ view })
    return true
  }
  const does = QUESTION_KEYS[key]
  if (does !== undefined) {
    const { node } = session
    if (!mayEdit(app) || node === undefined || (does !== 'add' && isTop(app))) return false
    app.pane = 'panel'
    app.go({ view: 'node' })
    app.ask({ does, node })
    return true
  }
  switch (key) {
    case '/':
      document.getElementById('search')?.focus()
      return true
    case 't':
      app.pane = 'tree'
      document.getElementById('tree')?.focus()
      app.changed()
      return true
    case '[':
    case ']':
      step(app, key === '[' ? -1 : 1)
      return true
    case '0':
      app.go({ at: undefined })
      return true
  }
  return false
}

/** To the revision before the one that is shown, or to the one behind it that is loaded. */
export function step(app: App, by: 1 | -1): void {
  const { session } = app
  if (session === undefined || !session.isWhole) return
  const { revisions, place, revision } = session
  // What comes behind one that is older than all that are loaded is not known.
  const newer = place < 0 ? undefined : revisions[place + 1]
  const found = by < 0 ? session.before(session.upTo(revision)) : newer
  if (found === undefined) return
  app.go({ at: found === revisions.at(-1) ? undefined : found.revision }, 'replace')
}
