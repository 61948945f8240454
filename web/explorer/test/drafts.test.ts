import { expect, test } from 'vitest'
import { Drafts, written } from '../src/state/drafts.ts'

function write(drafts: Drafts, branch: string, path: string, text: string) {
  drafts.of('t', branch, path).fresh = { name: 'n', text }
}

const texts = (drafts: Drafts, path: string) => written(drafts.of('t', 'main', path)).map(([, text]) => text)

test('what is written goes along with its node, and with one above that', () => {
  const drafts = new Drafts()
  for (const path of ['/a', '/a/3', '/ab']) write(drafts, 'main', path, `of ${path}`)
  write(drafts, 'other', '/a', 'elsewhere')
  drafts.move('t', 'main', '/a', '/b/0')
  expect(['/a', '/a/3', '/ab', '/b/0', '/b/0/3'].map((path) => texts(drafts, path)))
    .toEqual([[], [], ['of /ab'], ['of /a'], ['of /a/3']])
  expect(drafts.within('t', 'main', '/b').map(({ path }) => path)).toEqual(['/b/0', '/b/0/3'])
  expect(drafts.within('t', 'other', '/').map(({ path }) => path)).toEqual(['/a'])
})

test('what was written of a node that was there before stays', () => {
  const drafts = new Drafts()
  for (const path of ['/a', '/b']) write(drafts, 'main', path, `of ${path}`)
  drafts.move('t', 'main', '/a', '/b')
  expect(['/a', '/b'].map((path) => texts(drafts, path))).toEqual([['of /a'], ['of /b']])
})

test('what is written of a tree goes along with its name, on all branches', () => {
  const drafts = new Drafts()
  write(drafts, 'main', '/a', 'of /a')
  write(drafts, 'other', '/', 'of the root')
  drafts.of('u', 'main', '/a').fresh = { name: 'n', text: 'of u' }
  drafts.rename('t', 'v')
  expect(drafts.ofTree('t')).toEqual([])
  expect(drafts.ofTree('v').map(({ branch, path }) => `${branch} ${path}`)).toEqual(['main /a', 'other /'])
  expect(written(drafts.of('v', 'main', '/a'))).toEqual([['n', 'of /a']])
  expect(drafts.ofTree('u').length).toBe(1)
})
