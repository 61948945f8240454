/** The state that an address of the explorer has: what is sent to somebody shows them the same. */

export const VIEWS = ['node', 'graph', 'changes', 'history', 'branches', 'merge', 'search'] as const
export type View = (typeof VIEWS)[number]

/** What a history is needed for: only those who may read the whole of a tree see it. */
export const OF_WHOLE: readonly View[] = ['changes', 'history', 'merge']

export interface Address {
  /** The list of trees when not said. */
  tree?: string
  branch: string
  path: string
  /** A revision; the newest of the branch when not said. */
  at?: number
  view: View
  /** Of changes: the older revision. */
  from?: number
  /** Of a merge: the branch that is merged. */
  merge?: string
  /** Of a search: the expression. */
  find?: string
}

/** Some of it; what is undefined is to be said no more. */
export type Part = { [Name in keyof Address]?: Address[Name] | undefined }

export const HOME: Address = { branch: 'main', path: '/', view: 'node' }

/** Reads what is behind the question mark. What makes no sense counts as not said. */
export function readAddress(query: string): Address {
  const said = new URLSearchParams(query)
  const address: Address = { ...HOME }
  const tree = said.get('tree')
  if (tree === null || tree === '') return address
  address.tree = tree
  address.branch = said.get('branch') || 'main'
  const path = said.get('path')
  if (path?.startsWith('/')) address.path = path
  address.view = VIEWS.find((view) => view === said.get('view')) ?? 'node'
  const at = revision(said.get('at'))
  if (at !== undefined) address.at = at
  const from = revision(said.get('from'))
  if (from !== undefined && address.view === 'changes') address.from = from
  const merge = said.get('merge')
  if (merge !== null && address.view === 'merge') address.merge = merge
  const find = said.get('find')
  if (find !== null && address.view === 'search') address.find = find
  return address
}

/** What is not said is what is usual, so that addresses are short. */
export function writeAddress(address: Address): string {
  if (address.tree === undefined) return '?'
  const said: [string, string | number | undefined][] = [
    ['tree', address.tree],
    ['branch', address.branch === 'main' ? undefined : address.branch],
    ['path', address.path === '/' ? undefined : address.path],
    ['at', address.at],
    ['view', address.view === 'node' ? undefined : address.view],
    ['from', address.view === 'changes' ? address.from : undefined],
    ['merge', address.view === 'merge' ? address.merge : undefined],
    ['find', address.view === 'search' ? address.find : undefined],
  ]
  const pairs = said.filter(([, value]) => value !== undefined)
  const encode = (value: string) => encodeURIComponent(value).replaceAll('%2F', '/')
  return `?${pairs.map(([name, value]) => `${name}=${encode(String(value))}`).join('&')}`
}

function revision(text: string | null): number | undefined {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : undefined
}
