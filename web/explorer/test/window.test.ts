import { describe, expect, test } from 'vitest'
import { HEIGHT_MAX, listHeight, scrollTo, type View, window } from '../src/model/window.ts'

const view = (rows: number, scroll = 0): View => ({ rows, scroll, height: 600, rowHeight: 30 })

test('a short list is drawn whole', () => {
  expect(window(view(5))).toEqual({ first: 0, end: 5, top: 0 })
  expect(listHeight(5, 30)).toBe(150)
})

test('of a list that fits, rows stand where they are', () => {
  expect(window(view(1000, 3000))).toEqual({ first: 94, end: 126, top: 94 * 30 })
})

describe.each([1000, 300_000, 1_000_000, 100_000_000])('%d rows', (rows) => {
  const end = listHeight(rows, 30) - 600

  test('the first and the last can be reached, and no more', () => {
    expect(listHeight(rows, 30)).toBeLessThanOrEqual(HEIGHT_MAX)
    expect(window(view(rows, 0)).first).toBe(0)
    const last = window(view(rows, end))
    expect(last.end).toBe(rows)
    expect(last.top + (last.end - last.first) * 30).toBeCloseTo(end + 600, 3)
    expect(window(view(rows, end + 1e6)).end).toBe(rows)
  })

  test('few are drawn, and they cover what is seen', () => {
    for (let step = 0; step <= 50; step += 1) {
      const scroll = (end * step) / 50
      const { first, end: behind, top } = window(view(rows, scroll))
      expect(behind - first).toBeLessThanOrEqual(34)
      expect(top).toBeLessThanOrEqual(scroll + 1e-6)
      expect(top + (behind - first) * 30).toBeGreaterThanOrEqual(scroll + 600 - 1e-6)
    }
  })

  test('scrolling to a row shows it', () => {
    for (const row of [0, 1, 17, rows >> 1, rows - 2, rows - 1]) {
      const scroll = scrollTo(view(rows, end / 3), row)
      const { first, end: behind, top } = window(view(rows, scroll), 0)
      expect(first).toBeLessThanOrEqual(row)
      expect(behind).toBeGreaterThan(row)
      const at = top + (row - first) * 30 - scroll
      expect(at).toBeGreaterThanOrEqual(-0.01)
      expect(at).toBeLessThanOrEqual(570.01)
    }
  })
})
