import { expect, test } from 'vitest'
import type { Log, Outbox, Server } from '../src/api/types.ts'
import { besides, kept, state, synced } from '../src/model/cluster.ts'

const NOW = Date.parse('2026-11-22T12:00:00Z')
const LOG: Log = { stream: 's', first: 1, last: 2_000, bytes: 0, leader: null, replicas: [], syncs: true }
const SERVER: Server = { server: 'a', address: null, followed: 2_000, revision: 1, hash: null, fault: null, role: null }
const OUTBOX: Outbox = { pending: 0, oldest: null, refused: 0, error: null }

test('how far a server has followed', () => {
  const cases: Partial<Server>[] = [{}, { followed: 2_001 }, { followed: 500 }, { fault: 'they differ' }]
  expect(cases.map((more) => state({ ...SERVER, ...more }, LOG)))
    .toEqual(['up to date', 'up to date', '1\u202f500 behind', 'stopped: they differ'])
})

test.each<[Partial<Outbox>, string, boolean]>([
  [{}, 'outbox: empty', false],
  [{ pending: 1 }, 'outbox: one commit without a place', false],
  [
    { pending: 1_200, oldest: (NOW - 120_000) * 1000 },
    'outbox: 1\u202f200 commits without a place, the oldest made 2 minutes ago', false,
  ],
  [{ refused: 2 }, 'outbox: empty, 2 refused', true],
  [{ pending: 3, error: 'no answer' }, 'outbox: 3 commits without a place, not published: no answer', true],
])('an outbox %j is told as %j', (more, text, isBad) => {
  expect(besides({ ...SERVER, outbox: { ...OUTBOX, ...more } }, NOW)).toEqual([{ text, isBad }])
})

test('a copy of the log is followed or passed over', () => {
  const told = (error: string | null) => besides({ ...SERVER, outbox: OUTBOX, mirror: { domain: 'west', error } }, NOW)
  expect(told(null)[1]).toEqual({ text: 'follows the copy of the log in domain west', isBad: false })
  expect(told('it is behind')[1])
    .toEqual({ text: 'follows the log itself, not its copy in domain west: it is behind', isBad: true })
  expect(besides(SERVER, NOW)).toEqual([])
})

test('only an engine that promises too early is bad', () => {
  expect([true, false, null].map((syncs) => synced({ ...LOG, syncs }).isBad)).toEqual([false, true, false])
})

test('how the log is kept', () => {
  const replica = { name: 'n', current: true, offline: false, lag: 0 }
  const cases: Partial<typeof replica>[] = [{}, { current: false, lag: 7 }, { offline: true }]
  expect(cases.map((more) => kept({ ...replica, ...more }))).toEqual(['keeps it, too', 'is 7 behind', 'is not reached'])
})
