/** One tree, on one branch: what has been loaded of it, and what happens to it. */

import * as api from '../api/client.ts'
import type { Change, Child, Node, Revision, WatchEvent } from '../api/types.ts'
import { OF_WHOLE, type View } from '../model/address.ts'
import type { Sign } from '../model/changes.ts'
import { Forest, type Open, PAGE } from '../model/forest.ts'
import { ancestors, compareKeys, isBelow, lastKey, parent, partOf } from '../model/path.ts'

export type Live = 'connecting' | 'live' | 'ended'

/** Pages of revisions that are looked through for one that an address names; one that is older is asked for alone. */
const REVISION_PAGES_MAX = 20

/** How long after a commit of somebody else it is loaded, so that a stream of them is not. */
const QUIET_MS = 120

/** How long after a refusal the stream is opened again: it may be a limit, or a server that restarts. */
const AGAIN_MS = 5000

/** What a session tells whoever began it. */
export interface On {
  changed: () => void
  failed: (error: unknown) => void
  /** The stream was interrupted. */
  returned: () => void
}

export class Session {
  readonly tree: string
  readonly branch: string
  at: number | undefined
  /** Which of the parts is shown as the tree. */
  readonly top: string
  forest: Forest
  /** The oldest first. */
  revisions: Revision[] = []
  /** Where the page of older revisions follows, if there is one. */
  older: number | null = null
  /** Revisions that are older than those, by the numbers for which they were found. */
  private readonly far = new Map<number, Revision>()
  /** The first of all, where it is one of these. */
  private farFirst: Revision | undefined
  head = 0
  node: Node | undefined
  /** Of which version it is. */
  private nodeOf: AbortSignal | undefined
  /** How many pages of its attributes are looked at. */
  private nodePages = 1
  /** Why there is no node. */
  missing: api.Problem | undefined
  live: Live = 'connecting'
  /** What others just changed, and how often so far. */
  readonly flashes = new Map<string, number>()
  /** How the nodes differ from an older version, while changes are looked at. */
  marks: Map<string, Sign | 'below'> = new Map()
  /** Names of attributes that have been seen. */
  readonly attributes = new Set<string>()

  private readonly asked = new Map<string, Promise<void>>()
  private version = new AbortController()
  private source: EventSource | undefined
  private timer: ReturnType<typeof setTimeout> | undefined
  private again: ReturnType<typeof setTimeout> | undefined
  private nodeAsked = 0
  private isOver = false

  constructor(
    { tree, branch, at }: { tree: string; branch: string; at: number | undefined },
    private path: string,
    /** The nodes that one may read, with all below them. */
    readonly parts: readonly string[],
    private readonly on: On,
  ) {
    this.tree = tree
    this.branch = branch
    this.at = at
    this.top = partOf(parts, path) ?? parts[0] ?? '/'
    this.forest = new Forest(this.top)
  }

  get shown(): api.Version {
    const { tree, branch, at } = this
    return { tree, branch, at: at?.toString() }
  }

  /** The revision that is shown. */
  get revision(): number {
    return this.at ?? this.head
  }

  /** The node that was asked for last: another one is there until it comes. */
  get chosen(): string {
    return this.path
  }

  /** Is all of the tree shown? Its history is told to those only who may read all of it. */
  get isWhole(): boolean {
    return this.top === '/'
  }

  offers(view: View): boolean {
    return this.isWhole || !OF_WHOLE.includes(view)
  }

  async begin(): Promise<void> {
    const { at } = this
    if (this.isWhole) await this.loadRevisions()
    else await this.loadHead()
    await Promise.all([this.loadRoot(), this.loadNode(this.path)])
    if (this.isOver) return
    document.addEventListener('visibilitychange', this.seen)
    if (!document.hidden) this.watch()
    if (at !== undefined && this.isWhole) await this.find(at)
  }

  end(): void {
    this.isOver = true
    document.removeEventListener('visibilitychange', this.seen)
    this.source?.close()
    this.version.abort()
    clearTimeout(this.timer)
    clearTimeout(this.again)
  }

  /** Shows another version. What is on the screen stays until the new is there. */
  async show(at: number | undefined): Promise<void> {
    if (at === this.at) return
    this.at = at
    this.version.abort()
    this.version = new AbortController()
    this.asked.clear()
    this.refresh()
    if (at !== undefined && this.isWhole) await this.find(at)
  }

  async select(path: string): Promise<void> {
    if (path !== this.path) this.nodePages = 1
    this.path = path
    await this.loadNode(path)
  }

  /** Loads one more page of the node's attributes. The others are there: the browser only asks whether they are new. */
  async moreAttributes(): Promise<void> {
    this.nodePages += 1
    await this.loadNode(this.path)
  }

  /** Loads anew what is seen. */
  refresh(): void {
    this.forest.staleAll()
    void this.loadRoot()
    void this.loadNode(this.path)
    this.on.changed()
  }

  /** Loads a page unless it is there; whoever asks while it is on its way waits for the same. */
  ensure(open: Open, page: number): Promise<void> {
    if (!this.forest.wants(open, page)) return Promise.resolve()
    const key = `${open.path}#${page}`
    const known = this.asked.get(key)
    if (known !== undefined) return known
    const asking = this.loadPage(open, page).finally(() => {
      if (this.asked.get(key) === asking) this.asked.delete(key)
    })
    this.asked.set(key, asking)
    return asking
  }

  private async loadPage(open: Open, page: number): Promise<void> {
    const { signal } = this.version
    try {
      const found = await api.children(this.shown, open.path, page * PAGE, PAGE, signal)
      if (signal.aborted) return
      this.forest.load(open, page, found.count, found.children)
      // A commit came in between: what was loaded is old already.
      if (this.at === undefined && found.revision < this.head) open.stale.add(page)
      this.note(found.children)
    } catch (error) {
      if (signal.aborted) return
      if (error instanceof api.Problem && error.status === 404) this.forest.close(open)
      else this.on.failed(error)
    }
    this.on.changed()
  }

  toggle(above: Open, place: number, child: Child): void {
    const open = this.forest.opened(child.path)
    if (open) this.forest.close(open)
    else if (child.child_count > 0) this.forest.open(above, place, child)
    this.on.changed()
  }

  /** Opens what is above a path and loads where it stands; the row it is in, if it is there. */
  async reveal(path: string): Promise<number | undefined> {
    const { signal } = this.version
    try {
      return await this.openUpTo(path)
    } catch (error) {
      // Another version is shown by now.
      if (signal.aborted) return undefined
      throw error
    }
  }

  private async openUpTo(path: string): Promise<number | undefined> {
    let row: number | undefined = 0
    for (const at of ancestors(path).filter((above) => isBelow(above, this.top))) {
      const above = this.forest.opened(parent(at)!)
      if (above === undefined) return undefined
      row = this.forest.find(at, above.path)
      if (row === undefined) {
        const place = await this.placeOf(above, lastKey(at))
        if (place === undefined) return undefined
        await this.ensure(above, Math.floor(place / PAGE))
        row = this.forest.find(at, above.path)
      }
      if (row === undefined) return undefined
      const { node, place } = this.forest.row(row)
      if (at !== path && node !== undefined && node.child_count > 0) {
        const open = this.forest.open(above, place, node)
        await this.ensure(open, 0)
      }
    }
    this.on.changed()
    return row
  }

  /** Where a child stands among its siblings: halves what is left, so 20 questions do for a million. */
  private async placeOf(above: Open, key: string): Promise<number | undefined> {
    await this.ensure(above, 0)
    let [low, high] = [0, above.count]
    while (low < high) {
      const middle = (low + high) >> 1
      const { children } = await api.children(this.shown, above.path, middle, 1, this.version.signal)
      const found = children[0]
      if (found === undefined) high = middle
      else {
        const order = compareKeys(found.key, key)
        if (order === 0) return middle
        if (order < 0) low = middle + 1
        else high = middle
      }
    }
    return undefined
  }

  private async loadRoot(): Promise<void> {
    const { signal } = this.version
    try {
      const root = await api.node(this.shown, this.top, signal)
      const { path, attributes, child_count, subtree_count } = root
      this.forest.node = { key: lastKey(path), path, attributes, child_count, subtree_count }
      if (child_count !== this.forest.root.count) this.forest.stale(this.forest.root)
      this.note([this.forest.node])
      await this.ensure(this.forest.root, 0)
      this.on.changed()
    } catch (error) {
      if (signal.aborted) return
      // A part may be granted before it is there, and stay so when it is not there any more.
      if (!this.isWhole && error instanceof api.Problem && error.status === 404) this.empty()
      else this.on.failed(error)
    }
  }

  private empty(): void {
    this.forest = new Forest(this.top)
    this.forest.node = { key: lastKey(this.top), path: this.top, attributes: {}, child_count: 0, subtree_count: 0 }
    this.on.changed()
  }

  private async loadNode(path: string): Promise<void> {
    const { signal } = this.version
    const asked = ++this.nodeAsked
    try {
      const node = await api.node(this.shown, path, signal, this.nodePages)
      if (asked !== this.nodeAsked) return
      this.node = node
      this.nodeOf = signal
      this.missing = undefined
    } catch (error) {
      if (signal.aborted || asked !== this.nodeAsked) return
      // What is there still stays, and with it what is being written, when it is only not told just now.
      const isNo = error instanceof api.Problem && [403, 404, 410].includes(error.status)
      const isKept = !isNo && this.node?.path === path && this.nodeOf === signal
      if (!isKept) this.node = undefined
      if (!isKept && error instanceof api.Problem) this.missing = error
      else this.on.failed(error)
    }
    this.on.changed()
  }

  /** Loads older revisions, in front of those that are there; the newest if there are none. */
  async loadRevisions(): Promise<void> {
    const after = this.revisions.length === 0 ? undefined : this.older
    if (after === null) return
    const page = await api.revisions(this.tree, this.branch, after)
    const found = page.revisions.reverse().filter(({ revision }) => revision < (this.revisions[0]?.revision ?? Infinity))
    this.revisions = [...found, ...this.revisions]
    this.older = page.next
    this.head = Math.max(this.head, this.revisions.at(-1)?.revision ?? 0)
    this.on.changed()
  }

  /** The newest revision, for those to whom no history is told. */
  private async loadHead(): Promise<void> {
    const branches = await api.branches(this.tree)
    const found = branches.find(({ name }) => name === this.branch)
    if (found === undefined) throw new api.Problem(404, `there is no branch ${this.branch}`)
    this.head = found.revision
    this.on.changed()
  }

  /** Sees to it that the newest revision up to a number is known, and the one before it. */
  async find(number: number): Promise<void> {
    const isIn = () => this.revisions.length > 0 && (this.older === null || this.oldest <= number)
    for (let page = 0; page < REVISION_PAGES_MAX && !isIn(); page += 1) await this.loadRevisions()
    if (this.older === null || this.oldest < number || this.far.has(number)) return
    const { revisions: [found, before] } = await api.revisions(this.tree, this.branch, number + 1, 2)
    if (found) this.far.set(number, found)
    if (found && before) this.far.set(found.revision - 1, before)
    else this.farFirst ??= found
    this.on.changed()
  }

  /** The first that is kept, if it is known. */
  get first(): Revision | undefined {
    return this.older === null ? this.revisions[0] : this.farFirst
  }

  private get oldest(): number {
    return this.revisions[0]?.revision ?? 0
  }

  /** The newest revision up to a number, if it is known. */
  upTo(number: number): Revision | undefined {
    return this.revisions[this.lastUpTo(number)] ?? this.far.get(number)
  }

  /** The revision before another, if it is known. */
  before(one: Revision | undefined): Revision | undefined {
    return one && this.upTo(one.revision - 1)
  }

  /** Which of the loaded revisions is shown: the newest that is not newer. -1 if it is older than all of them. */
  get place(): number {
    return this.lastUpTo(this.revision)
  }

  private lastUpTo(number: number): number {
    let [low, end] = [0, this.revisions.length]
    while (low < end) {
      const middle = (low + end) >> 1
      if (this.revisions[middle]!.revision <= number) low = middle + 1
      else end = middle
    }
    return low - 1
  }

  /** A browser opens six connections to a server at most, for all its tabs: those that nobody sees give theirs back. */
  private readonly seen = (): void => {
    if (this.live === 'ended') return
    this.source?.close()
    if (document.hidden) return
    // As where the stream is refused: less may be granted by now.
    this.goOn().catch(() => {
      this.on.returned()
      this.resumeLater()
    })
  }

  /** Watches on from where one was, unless the history is another one: then the stream has ended. */
  private async goOn(): Promise<void> {
    const { source } = this
    const isSame = !this.isWhole || await this.isSame()
    // What happened meanwhile is not told to who sees a part, one by one: it may be much, elsewhere.
    if (!this.isWhole) await this.loadHead()
    if (this.isOver || document.hidden || this.source !== source) return
    if (!isSame) return this.become('ended')
    this.source?.close()
    this.watch()
    if (!this.isWhole) this.refresh()
  }

  /** Is the newest revision that is known still the one of its number? After a crash, or where a backup was put back, it may be another. */
  private async isSame(): Promise<boolean> {
    const known = this.revisions.at(-1)
    if (known === undefined) return true
    const found = await api.revisionUpTo(this.tree, this.branch, known.revision)
    return found?.revision === known.revision && found.time === known.time
  }

  private get stream(): string {
    return api.watchAddress(this.tree, this.branch, this.top, this.head)
  }

  private watch(): void {
    const source = new EventSource(this.stream)
    this.source = source
    let wasLive = false
    source.onopen = () => {
      if (wasLive) this.on.returned()
      wasLive = true
      this.become('live')
    }
    source.onerror = () => {
      // It tries again by itself unless it was refused.
      if (source.readyState !== EventSource.CLOSED) return this.become('connecting')
      this.on.returned()
      this.resumeLater()
    }
    source.addEventListener('change', (event) => {
      this.happened(JSON.parse(event.data as string) as WatchEvent)
    })
    for (const last of ['deleted', 'gone']) {
      source.addEventListener(last, () => {
        source.close()
        this.become('ended')
      })
    }
  }

  private resumeLater(): void {
    const { source } = this
    clearTimeout(this.again)
    this.again = setTimeout(() => void this.resume(source), AGAIN_MS)
    this.become('connecting')
  }

  /** Opens another stream, unless there is none any more: then it has ended. */
  private async resume(refused: EventSource | undefined): Promise<void> {
    // A page that is seen again has opened one itself.
    const isOff = () => this.isOver || document.hidden || this.source !== refused
    if (isOff()) return
    try {
      await api.mayCome(this.stream)
      if (isOff()) return
      this.on.returned()
      await this.goOn()
    } catch (error) {
      if (isOff()) return
      if (error instanceof api.Problem && [404, 410].includes(error.status)) this.become('ended')
      else this.resumeLater()
    }
  }

  private become(live: Live): void {
    this.live = live
    this.on.changed()
  }

  private happened({ revision, time, author, message, changes, cut }: WatchEvent): void {
    if (revision <= (this.revisions.at(-1)?.revision ?? 0)) return
    this.revisions.push({ revision, time, author, message, tags: [] })
    this.head = revision
    if (this.at === undefined) {
      if (cut) this.forest.staleAll()
      else for (const change of changes) this.touched(change)
      this.timer ??= setTimeout(() => {
        this.timer = undefined
        void this.loadRoot()
        void this.loadNode(this.path)
      }, QUIET_MS)
    }
    this.on.changed()
  }

  private touched({ op, path, from }: Change): void {
    if (op !== 'remove') this.flashes.set(path, (this.flashes.get(path) ?? 0) + 1)
    for (const place of from === undefined ? [path] : [path, from]) {
      const touched = op === 'set' || op === 'move' ? ancestors(place) : ancestors(place).slice(0, -1)
      for (const above of touched) {
        const open = this.forest.opened(above)
        if (open) this.forest.stale(open)
      }
    }
  }

  private note(children: Child[]): void {
    for (const { attributes } of children) {
      for (const name of Object.keys(attributes)) if (this.attributes.size < 12) this.attributes.add(name)
    }
  }
}
