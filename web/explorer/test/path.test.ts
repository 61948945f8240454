import { expect, test } from 'vitest'
import { ancestors, canonical, child, compareKeys, isBelow, keyOf, keys, lastKey, nameOf, parent, partOf } from '../src/model/path.ts'

test.each([
  ['/', []],
  ['/3', ['3']],
  ['/features/3/name', ['features', '3', 'name']],
  ['/"a/b"/c d', ['"a/b"', 'c d']],
  ['/"a\\"/b\\\\"/1', ['"a\\"/b\\\\"', '1']],
])('%s has the keys %j', (path, expected) => {
  expect(keys(path)).toEqual(expected)
  expect(ancestors(path).at(-1)).toBe(path)
})

test('what is above, below and last', () => {
  expect([parent('/'), parent('/3'), parent('/a/"b/c"')]).toEqual([undefined, '/', '/a'])
  expect([lastKey('/'), lastKey('/a/"b/c"')]).toEqual(['/', '"b/c"'])
  expect([child('/', 'a'), child('/a', '3')]).toEqual(['/a', '/a/3'])
  expect([isBelow('/a', '/'), isBelow('/ab', '/a'), isBelow('/a/b', '/a'), isBelow('/', '/')])
    .toEqual([true, false, true, false])
})

test('the part that has a node, or the first below it', () => {
  const parts = ['/a/b', '/a/bb', '/c']
  expect(['/', '/a', '/a/b', '/a/bb/3', '/c/d', '/ab', '/cc'].map((path) => partOf(parts, path)))
    .toEqual(['/a/b', '/a/b', '/a/b', '/a/bb', '/c', undefined, undefined])
  expect([partOf(['/'], '/x/y'), partOf([], '/')]).toEqual(['/', undefined])
})

test.each(['a', 'a b', '3', '-3', '3.80', '3.', '', ' a', 'a/b', 'a"b', 'a\\b', 'a\nb', 'äö', 'v1.2'])(
  'the name %j comes back from its key', (name) => {
    const key = keyOf(name)
    expect(keys(`/${key}/x`)).toEqual([key, 'x'])
    expect(nameOf(key)).toBe(name)
    expect(key.startsWith('"')).toBe(['3', '-3', '3.80', '', ' a', 'a/b', 'a"b', 'a\\b', 'a\nb'].includes(name))
  },
)

test('a path is written as the server does it', () => {
  expect(['/', '/a/3', '/"a"/"b/c"', '/"3"/"\\u0062"', '/"a\\/b"'].map(canonical))
    .toEqual(['/', '/a/3', '/a/"b/c"', '/"3"/b', '/"a/b"'])
})

test('keys are in the order of the server', () => {
  const ordered = ['-10', '-1', '0', '3', '3.80', '3.8080', '3.c0', '4', '10', '"3"', 'B', 'a', 'b', 'ä', '\uffee', '😀']
  const mixed = [...ordered].reverse().sort(compareKeys)
  expect(mixed).toEqual(ordered)
})
