/** What the server says and takes: `docs/openapi.json`, as far as the explorer uses it. */

export type Kind = 'null' | 'bool' | 'int' | 'float' | 'text' | 'bytes'

/** A typed value. Ints beyond 2^53 - 1 and floats that are not finite come as strings. */
export interface Value {
  type: Kind
  value: null | boolean | number | string
  /** The whole length, if the value was cut. */
  bytes?: number
}

export type Attributes = Record<string, Value>

export interface Tree {
  name: string
  revision: number
  time: string
  /** Left out where a part of it may be read only. */
  nodes?: number
}

export interface Node {
  branch: string
  revision: number
  path: string
  attributes: Attributes
  /** So many behind these are too much to be told with them. */
  attributes_left_out?: number
  /** Where those go on, if there are any. */
  attributes_next?: string
  child_count: number
  subtree_count: number
  next_position: number
}

export interface Child {
  key: string
  path: string
  attributes: Attributes
  child_count: number
  subtree_count: number
}

export interface Children {
  revision: number
  path: string
  child_count: number
  children: Child[]
  next: string | null
}

export interface Revision {
  revision: number
  time: string
  author: string | null
  message: string | null
  tags: string[]
}

export interface Change {
  op: 'add' | 'remove' | 'put' | 'unset' | 'move' | 'set'
  path: string
  from?: string
  attribute?: string
  value?: Value
  old?: Value
  nodes?: number
}

export interface Diff {
  from: number
  to: number
  total: number
  changes: Change[]
  next: number | null
}

export interface Branch {
  name: string
  revision: number
  time: string
}

export interface Tag {
  name: string
  revision: number
}

export interface Conflict {
  path: string
  attribute?: string
  kind: string
  ours: Change
  theirs: Change
  base?: Value
}

export interface Preview {
  from: string
  into: string
  base: number
  ours: number
  theirs: number
  /** The first of them. */
  conflicts: Conflict[]
  conflict_count: number
  total: number
  changes: Change[]
}

/** What taking back a revision would do: ours is what is there now, the base that revision, theirs what was before. */
export type RevertPreview = Omit<Preview, 'from' | 'into'>

export type Side = 'ours' | 'theirs'

/** How conflicts are settled: one by one, and all others as a side has them. */
export interface Settled {
  prevails?: Side
  resolve: ({ path: string; attribute?: string } & ({ take: Side } | { value: Value }))[]
}

export interface Found {
  revision: number
  matches: Child[]
  visited: number
  next: string | null
}

export interface Committed {
  revision: number
  changed: boolean
  created?: (string | null)[]
}

export interface WatchEvent extends Omit<Revision, 'tags'> {
  changes: Change[]
  cut?: boolean
}

export type Edit =
  | { op: 'append' | 'insert' | 'insert_before' | 'insert_after'; path: string; attributes?: Attributes }
  | { op: 'remove'; path: string }
  | { op: 'move'; from: string; path: string }
  | { op: 'put'; path: string; attribute: string; value: Value }
  | { op: 'unset'; path: string; attribute: string }
  | { op: 'test'; path: string; attribute?: string; value?: Value; exists?: boolean }

export interface Log {
  stream: string
  first: number
  last: number
  bytes: number
  leader: string | null
  replicas: { name: string; current: boolean; offline: boolean; lag: number }[]
  /** Whether the engine syncs before it answers; none where it does not say. */
  syncs: boolean | null
}

export interface Server {
  server: string
  address: string | null
  followed: number
  revision: number
  hash: string | null
  fault: string | null
  /** None where it is too old to say. */
  role: 'appends' | 'guest' | 'follows' | null
  /** What it has committed by itself, if it does. */
  outbox?: Outbox
  /** The copy of the log that it follows, if there is to be one. */
  mirror?: { domain: string; error: string | null }
}

export interface Outbox {
  pending: number
  /** When the oldest of them was made, in microseconds since 1970. */
  oldest: number | null
  refused: number
  error: string | null
}

export interface Cluster {
  /** None where a server is alone. */
  log: Log | null
  servers: Server[]
  elsewhere: Elsewhere[]
}

/** A server of another cluster of the same engine. */
export interface Elsewhere {
  cluster: string
  server: string
  address: string | null
  trees: string[]
  /** Whether it has more than these. */
  more: boolean
}

export type Role = 'read' | 'write' | 'admin'

/** Who asks, and what that one may do. */
export interface Me {
  name: string | null
  accounts: boolean
  creates: boolean
  tree: { name: string; whole: Role | null; part: Role | null; reads: string[]; writes: string[] } | null
}
