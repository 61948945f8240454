/** How a cluster stands, in words. */

import type { Log, Server } from '../api/types.ts'
import { count } from './value.ts'
import { ago } from './words.ts'

/** Something that is told, and whether somebody should look after it. */
export interface Said {
  text: string
  isBad: boolean
}

/** How far a server has followed the log. */
export function state({ fault, followed }: Server, log: Log): string {
  if (fault !== null) return `stopped: ${fault}`
  const lag = log.last - followed
  return lag > 0 ? `${count(lag)} behind` : 'up to date'
}

/** What a server has besides, if it has: commits of its own, and a copy of the log that it follows. */
export function besides({ outbox, mirror }: Server, now: number): Said[] {
  const said: Said[] = []
  if (outbox !== undefined) {
    const { pending, oldest, refused, error } = outbox
    const parts = [pending === 0 ? 'empty' : `${commits(pending)} without a place`]
    // Microseconds, as the cluster has them.
    if (pending > 0 && oldest !== null) parts.push(`the oldest made ${ago(oldest / 1000, now)}`)
    if (refused > 0) parts.push(`${count(refused)} refused`)
    if (error !== null) parts.push(`not published: ${error}`)
    said.push({ text: `outbox: ${parts.join(', ')}`, isBad: refused > 0 || error !== null })
  }
  if (mirror !== undefined) {
    const { domain, error } = mirror
    const text = error === null
      ? `follows the copy of the log in domain ${domain}`
      : `follows the log itself, not its copy in domain ${domain}: ${error}`
    said.push({ text, isBad: error !== null })
  }
  return said
}

/** Whether what is committed outlasts a cut of the engine's power. */
export function synced({ syncs }: Log): Said {
  switch (syncs) {
    case true:
      return { text: 'Commits are synced before they are promised.', isBad: false }
    case false:
      return { text: 'Commits are promised before they are synced.', isBad: true }
    case null:
      return { text: 'Whether commits are synced before they are promised is not said.', isBad: false }
  }
}

/** How one of the engine's servers keeps the log. */
export function kept({ offline, current, lag }: Log['replicas'][number]): string {
  if (offline) return 'is not reached'
  return current ? 'keeps it, too' : `is ${count(lag)} behind`
}

const commits = (many: number) => (many === 1 ? 'one commit' : `${count(many)} commits`)
