/** Asks the server. Every address is made here, so that every part of it is encoded here. */

import type {
  Branch, Child, Children, Cluster, Committed, Diff, Edit, Found, Me, Node, Preview, RevertPreview,
  Revision, Settled, Tag, Tree,
} from './types.ts'
import type { Form } from '../model/forms.ts'

/** A problem document (RFC 9457), or no answer at all (status 0). */
export class Problem extends Error {
  constructor(
    readonly status: number,
    detail: string,
    readonly hint?: string,
    /** Of an expression: the text with a mark where it is wrong. */
    readonly place?: string,
  ) {
    super(detail)
  }
}

type Query = Record<string, string | number | undefined>

/** Which version of which tree. */
export interface Version {
  tree: string
  branch: string
  /** The newest of the branch when not said. */
  at?: string | undefined
}

/** A preview of a merge, and what to send so that just that is merged. */
export type Seen = Tagged<Preview>

/** The same of a revert. */
export type SeenRevert = Tagged<RevertPreview>

type Tagged<T> = T & { tag: string }

export interface Told {
  author: string
  message: string
}

const API = '/api/v1'

export function address(tree: string, what: string, query: Query = {}): string {
  const pairs = Object.entries(query).filter(([, value]) => value !== undefined)
  const said = pairs.map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`)
  const path = `${API}/trees/${encodeURIComponent(tree)}${what}`
  return said.length === 0 ? path : `${path}?${said.join('&')}`
}

async function send(url: string, options: RequestInit = {}): Promise<Response> {
  let response: Response
  try {
    response = await fetch(url, options)
  } catch (error) {
    if (options.signal?.aborted) throw error
    throw new Problem(0, 'the server does not answer', 'is it still running?')
  }
  if (response.ok) return response
  if (response.status === 401) {
    // What is written would be gone with the page.
    if (isWriting()) throw new Problem(401, 'nobody is logged in here any more', 'log in on another tab: what you write stays')
    logIn()
  }
  const told: unknown = await response.json().catch(() => ({}))
  const { detail, hint, place } = told as { detail?: string; hint?: string; place?: string }
  throw new Problem(response.status, detail ?? response.statusText, hint, place)
}

/** Is there something on the page that was typed in or chosen, and not sent yet? */
function isWriting(): boolean {
  if (document.querySelector('.editor, .unsaved > *, .conflict.settled, dialog[open]') !== null) return true
  return [...document.querySelectorAll<HTMLInputElement>('.new-attribute input')].some(({ value }) => value !== '')
}

/** To the page on which to log in, and from there back to here. */
export function logIn(): void {
  const here = location.pathname + location.search + location.hash
  location.assign(`/login?next=${encodeURIComponent(here)}`)
}

async function get<T>(url: string, signal?: AbortSignal): Promise<T> {
  const response = await send(url, signal ? { signal } : {})
  return (await response.json()) as T
}

async function tagged<T>(url: string): Promise<Tagged<T>> {
  const response = await send(url)
  return { ...((await response.json()) as T), tag: response.headers.get('ETag') ?? '' }
}

async function write<T>(method: string, url: string, body?: unknown, headers = {}): Promise<T> {
  const json = { 'Content-Type': 'application/json', ...headers }
  const options = body === undefined ? { method } : { method, headers: json, body: JSON.stringify(body) }
  const response = await send(url, options)
  return (response.status === 204 ? undefined : await response.json()) as T
}

const upon = (tag: string) => (tag === '' ? {} : { 'If-Match': tag })

/** All of a list that is told in pages. */
async function all<Page extends { next?: string | null }, One>(
  ask: (after: string | undefined) => Promise<Page>, on: (page: Page) => One[],
): Promise<One[]> {
  const found: One[] = []
  let after: string | undefined
  do {
    const page = await ask(after)
    found.push(...on(page))
    const { next }: { next?: string | null } = page
    after = next ?? undefined
  } while (after !== undefined)
  return found
}

export const trees = (): Promise<Tree[]> => all(
  (after) => get<{ trees: Tree[]; next: string | null }>(
    `${API}/trees?limit=1000${after === undefined ? '' : `&after=${encodeURIComponent(after)}`}`,
  ),
  (page) => page.trees,
)

export const me = (tree?: string) =>
  get<Me>(`${API}/me${tree === undefined ? '' : `?tree=${encodeURIComponent(tree)}`}`)

export const cluster = () => get<Cluster>(`${API}/cluster`)

export const createTree = (name: string) => write<Tree>('POST', `${API}/trees`, { name })
export const renameTree = (tree: string, name: string) =>
  write<Tree>('PATCH', address(tree, ''), { name })
export const deleteTree = (tree: string) => write<void>('DELETE', address(tree, ''))

/** A node, with so many pages of attributes: nearly all nodes have one. */
export async function node(
  { tree, branch, at }: Version, path: string, signal?: AbortSignal, pages = 1,
): Promise<Node> {
  const ask = (attributes_after?: string) => (
    get<Node>(address(tree, '/node', { path, branch, at, attributes_after }), signal)
  )
  let found = await ask()
  for (let page = 1; page < pages && found.attributes_next !== undefined; page += 1) {
    const next = await ask(found.attributes_next)
    found = { ...next, attributes: { ...found.attributes, ...next.attributes } }
  }
  return found
}

/** The whole of a value that a node shows cut. */
export async function whole(version: Version, path: string, attribute: string): Promise<Response> {
  const { tree, branch, at } = version
  return send(address(tree, '/value', { path, attribute, branch, at }))
}

/**
 * Children number `offset` and on, as many as there are but at most `limit`, and the revision that
 * they are at least of: what follows the first page may be of a later one.
 */
export async function children(
  { tree, branch, at }: Version, path: string, offset: number, limit: number, signal?: AbortSignal,
): Promise<{ revision: number; count: number; children: Child[] }> {
  const query = { path, branch, at }
  const ask = (more: Query) => get<Children>(address(tree, '/children', { ...query, ...more }), signal)
  let page = await ask({ offset, limit })
  const { revision, child_count: count, children: found } = page
  // A page also ends when it has become long.
  while (page.next !== null && found.length < limit) {
    page = await ask({ after: page.next, limit: limit - found.length })
    found.push(...page.children)
  }
  return { revision, count, children: found }
}

export const search = (
  { tree, branch, at }: Version, path: string, where: string, after?: string, signal?: AbortSignal,
) => get<Found>(address(tree, '/search', { path, where, branch, at, after, limit: 100 }), signal)

export const revisions = (tree: string, branch: string, after?: number, limit = 1000) =>
  get<{ revisions: Revision[]; next: number | null }>(address(tree, '/revisions', { branch, after, limit }))

/** The newest revision up to one that was seen. A server of a cluster waits until it has that much. */
export async function revisionUpTo(tree: string, branch: string, seen: number): Promise<Revision | undefined> {
  const headers = { 'Jungle-Revision': String(seen) }
  const response = await send(address(tree, '/revisions', { branch, after: seen + 1, limit: 1 }), { headers })
  const { revisions } = (await response.json()) as { revisions: Revision[] }
  return revisions[0]
}

export const diff = (
  tree: string, branch: string, from: string | undefined, to: string | undefined, after = 0,
  signal?: AbortSignal,
) => get<Diff>(address(tree, '/diff', { branch, from, to, after, limit: 500 }), signal)

/** With the `ETag` of a version, nothing is committed once there is a newer one. */
export const commit = (
  tree: string, branch: string, edits: Edit[], told: Told, tag = '',
) => write<Committed>('POST', address(tree, '/commits', { branch }), { ...told, edits },
  { 'Idempotency-Key': once(), ...upon(tag) })

export interface Wanted extends Partial<Settled> {
  revision: number
  mode: 'undo' | 'restore'
}

/** What taking back a revision would do, with the `ETag` of the branch. */
export const previewRevert = (tree: string, branch: string, revision: number) =>
  tagged<RevertPreview>(address(tree, '/reverts', { branch, revision }))

/** With the `ETag` of a version, nothing is done once there is a newer one. */
export const revert = (tree: string, branch: string, wanted: Wanted, told: Told, tag = '') =>
  write<Committed>('POST', address(tree, '/reverts'), { branch, ...wanted, ...told }, upon(tag))

export const branches = (tree: string): Promise<Branch[]> => all(
  (after) => get<{ branches: Branch[]; next?: string }>(address(tree, '/branches', { after })),
  (page) => page.branches,
)
export const createBranch = (tree: string, name: string, at: string) =>
  write<Branch>('POST', address(tree, '/branches'), { name, at })
export const deleteBranch = (tree: string, name: string) =>
  write<void>('DELETE', address(tree, `/branches/${encodeURIComponent(name)}`))

export const tags = (tree: string): Promise<Tag[]> => all(
  (after) => get<{ tags: Tag[]; next?: string }>(address(tree, '/tags', { after })),
  (page) => page.tags,
)
export const createTag = (tree: string, name: string, at: string) =>
  write<Tag>('POST', address(tree, '/tags'), { name, at })
export const deleteTag = (tree: string, name: string) =>
  write<void>('DELETE', address(tree, `/tags/${encodeURIComponent(name)}`))

/** What a merge would do, with the `ETag` of the branch it would go into. */
export const preview = (tree: string, from: string, into: string) =>
  tagged<Preview>(address(tree, '/merges', { from, into }))

/** Merges what was seen: nothing, where either branch has something newer. */
export const merge = (
  tree: string, { from, into, ours, tag }: Seen, settled: Settled, told: Told,
) => write<Committed>('POST', address(tree, '/merges'),
  { from, into, from_revision: ours, ...settled, ...told }, upon(tag))

export const documentAddress = ({ tree, branch, at }: Version, path: string, form: Form['query']) =>
  address(tree, '/document', { path, branch, at, ...form })

export const watchAddress = (tree: string, branch: string, path: string, after: number) =>
  address(tree, '/watch', { branch, path, after })

/** Fails with the reason why nothing comes, which neither an `EventSource` nor a download tells. */
export async function mayCome(url: string): Promise<void> {
  const stop = new AbortController()
  await send(url, { signal: stop.signal })
  stop.abort()
}

/** A key for a request that must not be done twice; also where there is no `randomUUID`. */
function once(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
