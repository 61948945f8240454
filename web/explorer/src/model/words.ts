/** How things are told: times, people, counts, expressions. */

import { keyOf } from './path.ts'

/** How long ago, roughly. */
export function ago(time: string | number, now: number): string {
  const seconds = Math.max(0, Math.round((now - new Date(time).getTime()) / 1000))
  const units: [number, string][] = [[86_400, 'day'], [3600, 'hour'], [60, 'minute']]
  for (const [length, name] of units) {
    const many = Math.floor(seconds / length)
    if (many > 0) return `${many} ${name}${many === 1 ? '' : 's'} ago`
  }
  return seconds < 5 ? 'just now' : `${seconds} seconds ago`
}

/** The time of this place's clock, to the second. */
export function clock(time: string): string {
  const date = new Date(time)
  const two = (number: number) => number.toString().padStart(2, '0')
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`
}

/** One of eight colours for a person, always the same. */
export function hue(name: string | null): number {
  if (name === null || name === '') return 0
  let sum = 7
  for (const char of name) sum = (sum * 31 + char.codePointAt(0)!) % 65_521
  return 1 + (sum % 7)
}

/** What plain words are looked for in first. */
const NAME = '@name'

const EXPRESSION = /[=<>~]|\b(exists|not|and|or)\s|^[(@]/

/**
 * The expression for what somebody typed in: their own, or, of plain words, one that looks for the
 * text in names and in the attributes that have been seen.
 */
export function expression(typed: string, attributes: readonly string[]): string {
  const text = typed.trim()
  if (EXPRESSION.test(text)) return text
  const quoted = JSON.stringify(text)
  const keys = [NAME, ...attributes.map((key) => (/^[\p{L}_][\p{L}\p{N}_-]*$/u.test(key) ? key : JSON.stringify(key)))]
  return keys.map((key) => `${key} ~ ${quoted}`).join(' or ')
}

/** Was it made of plain words? */
export const isOfWords = (expression: string) => expression.startsWith(`${NAME} ~ "`)

/** A free name: this one, or with a number behind it. */
export function freeName(wanted: string, taken: readonly string[]): string {
  for (let number = 2, name = wanted; ; number += 1, name = `${wanted}-${number}`) {
    if (!taken.includes(keyOf(name)) && !taken.includes(name)) return name
  }
}
