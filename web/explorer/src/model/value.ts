/** Typed values: to show, to edit, and back. */

import type { Kind, Value } from '../api/types.ts'

export const KINDS: readonly Kind[] = ['text', 'int', 'float', 'bool', 'null', 'bytes']

const INT_MIN = -(2n ** 63n)
const INT_MAX = 2n ** 63n - 1n

/** A value as it is typed in, which need not be one. */
export interface Typed {
  kind: Kind
  text: string
}

/** In one line. Text is in quotes, so that it is told from what it may look like; so many letters of it at most. */
export function shown(value: Value, letters = Infinity): string {
  const cut = value.bytes === undefined ? '' : ` … ${size(value.bytes)}`
  switch (value.type) {
    case 'text': {
      const text = String(value.value)
      return JSON.stringify(text.slice(0, letters)) + (text.length > letters && cut === '' ? ' …' : cut)
    }
    case 'bytes': {
      const bytes = fromBase64(String(value.value))
      return `0x${hex(bytes.subarray(0, 32), '')}${bytes.length > 32 && cut === '' ? '…' : ''}${cut}`
    }
    default:
      return edited(value)
  }
}

/** As it is edited: text as it is, bytes as hexadecimal digits, a float never looks like an int. */
export function edited(value: Value): string {
  switch (value.type) {
    case 'null':
      return 'null'
    case 'bytes':
      return hex(fromBase64(String(value.value)), ' ')
    case 'float': {
      const text = String(value.value)
      return /^-?\d+$/.test(text) ? `${text}.0` : text
    }
    default:
      return String(value.value)
  }
}

/** Reads what was typed in. A string says what is wrong with it. */
export function read(kind: Kind, text: string): Value | string {
  switch (kind) {
    case 'null':
      return { type: 'null', value: null }
    case 'bool':
      if (text !== 'true' && text !== 'false') return 'true or false'
      return { type: 'bool', value: text === 'true' }
    case 'int':
      return readInt(text.trim())
    case 'float':
      return readFloat(text.trim())
    case 'text':
      return { type: 'text', value: text }
    case 'bytes':
      return readBytes(text)
  }
}

/** JavaScript's numbers hold 53 bits: a larger int stays a string of digits all the way. */
function readInt(text: string): Value | string {
  const digits = text.replaceAll('_', '')
  if (!/^[+-]?\d+$/.test(digits)) return 'a whole number, such as 42'
  const int = BigInt(digits.replace(/^\+/, ''))
  if (int < INT_MIN || int > INT_MAX) return `from ${INT_MIN} to ${INT_MAX}`
  const number = Number(int)
  return { type: 'int', value: Number.isSafeInteger(number) ? number : int.toString() }
}

function readFloat(text: string): Value | string {
  if (/^(nan|[+-]?inf(inity)?)$/i.test(text)) {
    const name = /^nan$/i.test(text) ? 'NaN' : text.startsWith('-') ? '-inf' : 'inf'
    return { type: 'float', value: name }
  }
  if (!/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text)) return 'a number, such as 0.5 or 1e9'
  const number = Number(text)
  return Number.isFinite(number) ? { type: 'float', value: number } : 'at most 1.8e308'
}

function readBytes(text: string): Value | string {
  const digits = text.replaceAll(/\s/g, '').replace(/^0x/i, '')
  if (!/^[0-9a-f]*$/i.test(digits) || digits.length % 2 !== 0) {
    return 'hexadecimal digits in pairs, such as 00 ff'
  }
  const bytes = Uint8Array.from(digits.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16))
  return { type: 'bytes', value: toBase64(bytes) }
}

/** The type that something typed in plainly most likely has. */
export function guess(text: string): Value {
  const plain = text.trim()
  if (plain === 'null') return { type: 'null', value: null }
  for (const kind of ['bool', 'int', 'float'] as const) {
    const value = read(kind, plain)
    if (plain !== '' && typeof value !== 'string') return value
  }
  return { type: 'text', value: text }
}

/** Is it the same? Of what is cut its beginning and its length tell: between the two it may be another. */
export function same(left: Value | undefined, right: Value | undefined): boolean {
  if (left === undefined || right === undefined) return left === right
  if (left.type !== right.type) return false
  if (left.bytes === undefined && right.bytes === undefined) return left.value === right.value
  const [one, other] = [beginning(left), beginning(right)]
  return length(left) === length(right) && (one.startsWith(other) || other.startsWith(one))
}

/** What is certain to be in all of it, too: the last digits of base64 stand for what was cut off as well. */
export function beginning({ type, value, bytes }: Value): string {
  return type === 'bytes' && bytes !== undefined ? String(value).slice(0, -4) : String(value)
}

function length({ type, value, bytes }: Value): number {
  if (bytes !== undefined) return bytes
  return type === 'bytes' ? fromBase64(String(value)).length : new TextEncoder().encode(String(value)).length
}

export function fromBase64(text: string): Uint8Array {
  return Uint8Array.from(atob(text), (char) => char.charCodeAt(0))
}

export function toBase64(bytes: Uint8Array): string {
  let text = ''
  for (const byte of bytes) text += String.fromCharCode(byte)
  return btoa(text)
}

function hex(bytes: Uint8Array, between: string): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join(between)
}

/** A length in bytes. */
export function size(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`
  const [much, unit] = bytes < 1 << 20 ? [bytes / 1024, 'KiB'] : [bytes / (1 << 20), 'MiB']
  return `${much.toFixed(much < 10 ? 1 : 0)} ${unit}`
}

/** A count with its thousands apart. */
export function count(number: number): string {
  return number.toString().replaceAll(/\B(?=(\d{3})+$)/g, '\u202f')
}
