import { describe, expect, test } from 'vitest'
import type { Kind, Value } from '../src/api/types.ts'
import { count, edited, guess, read, same, shown, size } from '../src/model/value.ts'

describe('ints of 64 bits', () => {
  test.each([
    ['7', 7],
    ['+12', 12],
    ['1_000', 1000],
    ['9007199254740991', 9007199254740991],
    ['9007199254740992', '9007199254740992'],
    ['9007199254740993', '9007199254740993'],
    ['9223372036854775807', '9223372036854775807'],
    ['-9223372036854775808', '-9223372036854775808'],
  ])('%s is kept', (text, value) => {
    const found = read('int', text)
    expect(found).toEqual({ type: 'int', value })
    if (typeof found !== 'string') expect(BigInt(edited(found))).toBe(BigInt(text.replace('_', '')))
  })

  test.each(['9223372036854775808', '-9223372036854775809', '', '1.0', '1e3', '0x10', '٣'])(
    '%j is refused', (text) => expect(read('int', text)).toBeTypeOf('string'),
  )
})

describe('values that are cut', () => {
  const text = (value: string, bytes?: number): Value => ({ type: 'text', value, ...(bytes === undefined ? {} : { bytes }) })
  const bytes = (value: string, bytes?: number): Value => ({ ...text(value, bytes), type: 'bytes' })

  test.each<[string, Value, Value, boolean]>([
    ['all of it', text('a poém'), text('a p', 7), true],
    ['another length', text('a poem'), text('a p', 7), false],
    ['another beginning', text('a poém'), text('a q', 7), false],
    ['another one that is cut', text('a p', 7), text('a p', 8), false],
    ['bytes, whose last digits stand for more', bytes('AAECAwQF'), bytes('AAECAw==', 6), true],
    ['other bytes', bytes('AQECAwQF'), bytes('AAECAw==', 6), false],
    ['another type', bytes('AAECAwQF'), text('AAECAwQF'), false],
  ])('%s', (_, left, right, isSame) => {
    expect([same(left, right), same(right, left)]).toEqual([isSame, isSame])
  })

  test('of a long one the first letters are shown', () => {
    expect([shown(text('a poem'), 3), shown(text('a poem', 2048), 3), shown(text('a poem'))])
      .toEqual(['"a p" …', '"a p" … 2.0 KiB', '"a poem"'])
  })
})

describe('other types', () => {
  test.each<[Kind, string, string]>([
    ['float', '7', '7.0'],
    ['float', '0.1', '0.1'],
    ['float', '1e300', '1e+300'],
    ['float', '-Infinity', '-inf'],
    ['float', 'nan', 'NaN'],
    ['bool', 'true', 'true'],
    ['null', '', 'null'],
    ['text', ' a\n"b" ', ' a\n"b" '],
    ['bytes', '0x00FF 7a', '00 ff 7a'],
    ['bytes', '', ''],
  ])('%s %j comes back as %j', (kind, text, again) => {
    const value = read(kind, text)
    expect(value).not.toBeTypeOf('string')
    if (typeof value !== 'string') expect(edited(value)).toBe(again)
  })

  test.each<[Kind, string]>([
    ['float', '1,5'], ['float', '1e999'], ['float', ''], ['bool', 'yes'], ['bytes', '0'], ['bytes', 'xy'],
  ])('%s %j is refused', (kind, text) => expect(read(kind, text)).toBeTypeOf('string'))
})

test('what is typed in plainly has the type it looks like', () => {
  const kinds = ['7', '7.0', 'true', 'null', 'seven', '', ' '].map((text) => guess(text).type)
  expect(kinds).toEqual(['int', 'float', 'bool', 'null', 'text', 'text', 'text'])
})

test('values are told apart when shown', () => {
  expect(shown({ type: 'text', value: '7' })).toBe('"7"')
  expect(shown({ type: 'float', value: 7 })).toBe('7.0')
  expect(shown({ type: 'bytes', value: 'AP8=' })).toBe('0x00ff')
  expect(shown({ type: 'text', value: 'ab', bytes: 5000 })).toBe('"ab" … 4.9 KiB')
})

test('counts and sizes are readable', () => {
  expect([count(999), count(1000), count(1234567)]).toEqual(['999', '1\u202f000', '1\u202f234\u202f567'])
  expect([size(5), size(2048), size(3 << 20)]).toEqual(['5 B', '2.0 KiB', '3.0 MiB'])
})
