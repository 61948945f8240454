/** What the whole page shows: where it is, who is there, what was said. */

import * as api from '../api/client.ts'
import type { Committed, Edit, Me, Node, Role, Tree } from '../api/types.ts'
import { type Address, HOME, type Part, readAddress, type View, writeAddress } from '../model/address.ts'
import { child, isBelow, isPosition, isWithin, lastKey, parent, partOf } from '../model/path.ts'
import { type Chosen, Settling } from './choices.ts'
import { type Draft, Drafts } from './drafts.ts'
import { Said } from './said.ts'
import { Session } from './session.ts'

/** What is asked about a node: that one, whatever is shown by then. */
export interface Question {
  does: 'add' | 'move' | 'remove'
  node: Node
}

export type Theme = 'auto' | 'light' | 'dark'

export class App {
  address: Address = readAddress(location.search)
  trees: Tree[] | undefined
  session: Session | undefined
  /** Which opening of a tree is the newest. */
  private opening: object | undefined
  /** Nothing is known of the tree, or of what of it may be read: the server did not say. */
  isUntold = false
  /** Who this is, once the server has said so. */
  me: Me | undefined
  readonly said = new Said(() => this.changed())
  readonly drafts = new Drafts()
  readonly settling = new Settling()
  /** What has just been made, moved or found: the tree scrolls there. */
  wanted: string | undefined
  /** On a phone, one of the two is seen. */
  pane: 'tree' | 'panel' = 'tree'
  /** What stands in front of the page. A question goes with the place where it was asked. */
  dialog: 'help' | Question | undefined
  private listeners = new Set<() => void>()
  private isDue = false

  constructor() {
    addEventListener('popstate', () => this.arrive(readAddress(location.search)))
    addEventListener('beforeunload', (event) => {
      if (this.drafts.written.length + this.settling.made.length > 0) event.preventDefault()
    })
    this.showTheme()
    this.arrive(this.address)
  }

  listen(listener: () => void): () => void {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  /** Draws again, once for all that changed meanwhile. */
  readonly changed = () => {
    if (this.isDue) return
    this.isDue = true
    queueMicrotask(() => {
      this.isDue = false
      for (const listener of this.listeners) listener()
    })
  }

  /** Goes elsewhere. Small steps replace the address, so that the way back is not long. */
  go(part: Part, how: 'push' | 'replace' = 'push'): void {
    const next = { ...this.address, ...part } as Address
    for (const name of Object.keys(next) as (keyof Address)[]) {
      if (next[name] === undefined) delete next[name]
    }
    const query = writeAddress(next)
    if (query !== writeAddress(this.address)) {
      if (how === 'push') history.pushState(null, '', query)
      else history.replaceState(null, '', query)
    }
    this.arrive(readAddress(query))
  }

  href(part: Part): string {
    return writeAddress({ ...this.address, ...part } as Address)
  }

  /** The view that is shown: the one of the address, where it is offered. */
  get view(): View {
    const { view } = this.address
    return this.session?.offers(view) === false ? 'node' : view
  }

  /** Is the node there to be edited, with what is written of it? */
  isEdited({ tree, branch, path }: Draft): boolean {
    const { address, session } = this
    if (session === undefined || this.view !== 'node' || address.at !== undefined || !this.mayEdit) return false
    if (session.tree !== tree || session.branch !== branch) return false
    // An address may write it otherwise, and what is asked for may not have come.
    return session.node?.path === path || (address.path === path && session.missing === undefined)
  }

  /** Are the conflicts there to be settled, with what is chosen for them? */
  isSettled({ tree, branch, cause }: Chosen): boolean {
    const { address, session, view } = this
    if (session?.tree !== tree || session.branch !== branch) return false
    // Without another branch in the address it is the one that one goes on with.
    if ('merge' in cause) return view === 'merge' && (address.merge ?? cause.merge) === cause.merge
    const one = session.upTo(session.revision)
    if (view !== 'changes' || one?.revision !== cause.undo) return false
    return address.from === undefined || session.upTo(address.from) === session.before(one)
  }

  home(): void {
    this.go({ ...HOME, tree: undefined, at: undefined })
  }

  private arrive(address: Address): void {
    const { session } = this
    if (this.dialog !== 'help' && writeAddress(address) !== writeAddress(this.address)) this.dialog = undefined
    this.address = address
    document.title = title(address)
    if (address.tree === undefined) {
      session?.end()
      this.session = this.opening = undefined
      void this.loadTrees()
      void this.loadMe()
    } else if (session?.tree !== address.tree || session.branch !== address.branch) {
      void this.open()
    } else if (!this.isThere(session)) {
      this.enter(session.parts)
    } else {
      if (session.at !== address.at) session.show(address.at).catch(this.failed)
      const { path } = this.address
      if (session.chosen !== path || session.node?.path !== path) void session.select(path)
      if (address.view !== 'changes') session.marks = new Map()
    }
    this.changed()
  }

  /** Opens the tree of the address, once it is known which parts of it may be read. */
  async open(): Promise<void> {
    const { tree } = this.address
    this.session?.end()
    this.session = undefined
    const opening = (this.opening = {})
    this.isUntold = false
    const known = this.me?.tree?.name === tree ? this.me : undefined
    const me = known ?? (await this.loadMe())
    if (this.opening !== opening) return
    if (me?.tree) this.enter(me.tree.reads)
    else this.isUntold = true
    this.changed()
  }

  /** Shows the tree: all of it, or the part that has what is asked for. */
  private enter(parts: readonly string[]): void {
    const { tree, branch, path } = this.address
    if (tree === undefined) return
    this.session?.end()
    this.opening = undefined
    const part = partOf(parts, path)
    if (part !== undefined && !isWithin(path, part)) this.amend(part)
    const { at, path: from } = this.address
    const session = new Session({ tree, branch, at }, from, parts, {
      changed: this.changed, failed: this.failed, returned: () => void this.recheck(session),
    })
    this.session = session
    this.wanted = from
    session.begin().catch((error: unknown) => this.lost(session, error))
    this.changed()
  }

  /** Is what is to be shown in the part that is? For what is above that part, it stands itself. */
  private isThere({ parts, top }: Session): boolean {
    if (isBelow(top, this.address.path)) this.amend(top)
    return (partOf(parts, this.address.path) ?? top) === top
  }

  /** The address is of another node. */
  private amend(path: string): void {
    this.address = { ...this.address, path }
    history.replaceState(null, '', writeAddress(this.address))
    document.title = title(this.address)
  }

  /** The server was away, or has ended the stream: something else may be granted now. */
  private async recheck(session: Session): Promise<void> {
    const me = await this.loadMe()
    const parts = me?.tree?.reads
    if (this.session === session && parts && parts.join('\n') !== session.parts.join('\n')) this.enter(parts)
  }

  private lost(session: Session, error: unknown): void {
    if (this.session !== session) return
    this.failed(error)
    if (error instanceof api.Problem && error.status === 404) {
      if (session.branch === 'main') this.home()
      else this.go({ branch: 'main', at: undefined }, 'replace')
    } else if (session.head === 0) {
      session.end()
      this.session = undefined
      this.isUntold = true
      this.changed()
    }
  }

  async loadTrees(): Promise<void> {
    try {
      this.trees = await api.trees()
      this.changed()
    } catch (error) {
      this.failed(error)
    }
  }

  private async loadMe(): Promise<Me | undefined> {
    const { tree } = this.address
    try {
      const me = await api.me(tree)
      if (tree === this.address.tree) this.me = me
      this.changed()
      return me
    } catch {
      // Whatever is done is allowed or refused by the server, whether or not that is known here.
      return undefined
    }
  }

  /** May the node that is shown be edited? Until that is known, the server will say. */
  get mayEdit(): boolean {
    return this.mayWrite(this.address.path)
  }

  private mayWrite(path: string): boolean {
    const tree = this.me?.tree
    return tree == null || tree.name !== this.address.tree || tree.writes.some((top) => isWithin(path, top))
  }

  /** May branches and tags of it be made, and merged? */
  get mayBranch(): boolean {
    return this.has(['write', 'admin'])
  }

  /** May they be deleted? */
  get mayDelete(): boolean {
    return this.has(['admin'])
  }

  private has(roles: readonly (Role | null)[]): boolean {
    const tree = this.me?.tree
    return tree == null || tree.name !== this.address.tree || roles.includes(tree.whole)
  }

  /** Puts a dialog in front of the page, or takes it away. */
  ask(dialog: App['dialog']): void {
    this.dialog = dialog
    this.changed()
  }

  say(text: string): void {
    this.said.well(text)
  }

  readonly failed = (error: unknown) => {
    const hint = error instanceof api.Problem ? error.hint : undefined
    const text = error instanceof Error ? error.message : String(error)
    this.said.wrong(text, hint)
  }

  /** Edits the newest version of the branch. Nothing if it was refused, which has been said then. Another tree may be shown since that was asked. */
  async commit(edits: Edit[], message: string, tag?: string, session = this.session): Promise<Committed | undefined> {
    if (session === undefined) return undefined
    return this.did(api.commit(session.tree, session.branch, edits, this.told(message), tag))
  }

  /** Moves a node below another: behind its children, or among them with the name it has. */
  async moveBelow(from: string, target: string): Promise<void> {
    const { session } = this
    if (session === undefined || !this.mayWrite(from) || parent(from) === target || isWithin(target, from)) return
    const node = await this.did(api.node(session.shown, target))
    if (node === undefined) return
    const key = lastKey(from)
    const to = child(target, isPosition(key) ? String(node.next_position) : key)
    if (await this.commit([{ op: 'move', from, path: to }], `moved from ${from}`, undefined, session) === undefined) return
    this.drafts.move(session.tree, session.branch, from, to)
    session.refresh()
    if (this.session === session) this.reveal(to)
  }

  /** Waits for something that was asked for; says it if that fails. */
  async did<T>(asked: Promise<T>): Promise<T | undefined> {
    try {
      return await asked
    } catch (error) {
      this.failed(error)
      return undefined
    }
  }

  told(message: string): api.Told {
    return { author: this.author, message }
  }

  /** Shows a node in the tree and beside it. */
  reveal(path: string): void {
    this.wanted = path
    this.go({ path, ...(this.address.view === 'search' ? {} : { view: 'node' as const }) })
  }

  /** Is there nobody who has said who they are, where one may? */
  get isStranger(): boolean {
    return this.me?.accounts === true && this.me.name === null
  }

  get author(): string {
    return this.me?.name ?? (remembered('author') || 'somebody')
  }

  set author(name: string) {
    remember('author', name.trim())
    this.changed()
  }

  get theme(): Theme {
    const theme = remembered('theme')
    return theme === 'light' || theme === 'dark' ? theme : 'auto'
  }

  set theme(theme: Theme) {
    remember('theme', theme)
    this.showTheme()
    this.changed()
  }

  private showTheme(): void {
    document.documentElement.dataset['theme'] = this.theme
  }
}

function title({ tree, path, at }: Address): string {
  if (tree === undefined) return 'Jungle explorer'
  return `${tree}${path === '/' ? '' : ` ${path}`}${at === undefined ? '' : ` at ${at}`} – Jungle`
}

/** What a browser remembers for a person; it may be told not to. */
function remembered(name: string): string {
  try {
    return localStorage.getItem(`jungle.${name}`) ?? ''
  } catch {
    return ''
  }
}

function remember(name: string, value: string): void {
  try {
    localStorage.setItem(`jungle.${name}`, value)
  } catch {
    // Then it is asked for again the next time.
  }
}
