import { expect, test } from 'vitest'
import { type Address, HOME, readAddress, writeAddress } from '../src/model/address.ts'

test.each<[Partial<Address>, string]>([
  [{}, '?'],
  [{ tree: 'notes' }, '?tree=notes'],
  [{ tree: 'a&b', path: '/"x/y"/3', at: 12 }, '?tree=a%26b&path=/%22x/y%22/3&at=12'],
  [{ tree: 't', branch: 'draft', view: 'changes', from: 3, at: 9 }, '?tree=t&branch=draft&at=9&view=changes&from=3'],
  [{ tree: 't', view: 'merge', merge: 'dr+aft' }, '?tree=t&view=merge&merge=dr%2Baft'],
  [{ tree: 't', view: 'search', find: 'a = "b"' }, '?tree=t&view=search&find=a%20%3D%20%22b%22'],
])('%j is written %s, and read again', (part, query) => {
  const address = { ...HOME, ...part }
  expect(writeAddress(address)).toBe(query)
  expect(readAddress(query)).toEqual(address)
})

test('what makes no sense counts as not said', () => {
  expect(readAddress('?tree=t&at=-1&view=nothing&path=x&from=2')).toEqual({ ...HOME, tree: 't' })
  expect(readAddress('?path=/a&at=3')).toEqual(HOME)
})
