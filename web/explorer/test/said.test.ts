import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Said } from '../src/state/said.ts'

beforeEach(() => { vi.useFakeTimers() })
afterEach(() => { vi.useRealTimers() })

const texts = (said: Said) => said.all.map(({ text }) => text)

test('what went well goes by itself, and what went wrong stays until it is dismissed', () => {
  const changed = vi.fn()
  const said = new Said(changed)
  said.well('copied')
  said.wrong('it was not saved', 'try again')
  expect(texts(said)).toEqual(['copied', 'it was not saved'])
  vi.advanceTimersByTime(60_000)
  expect(said.all).toEqual([{ id: 1, text: 'it was not saved', hint: 'try again', isBad: true }])
  changed.mockClear()
  said.dismiss(1)
  expect([texts(said), changed.mock.calls.length]).toEqual([[], 1])
})

test('what is said next takes the place of what went wrong', () => {
  const said = new Said(() => undefined)
  said.wrong('it was not saved')
  said.wrong('nor was this')
  expect(texts(said)).toEqual(['nor was this'])
  said.well('saved')
  said.well('copied')
  said.well('saved')
  expect(texts(said)).toEqual(['copied', 'saved'])
  // The time of the first is over before that of the second.
  vi.advanceTimersByTime(1)
  said.well('saved')
  vi.advanceTimersByTime(5_999)
  expect(texts(said)).toEqual(['saved'])
  said.dismissAll()
  expect(texts(said)).toEqual([])
})
