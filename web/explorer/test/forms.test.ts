import { expect, test } from 'vitest'
import { documentAddress } from '../src/api/client.ts'
import { formsOf } from '../src/model/forms.ts'

test('each form is asked for by what the server calls it', () => {
  const version = { tree: 'a b', branch: 'main', at: '7' }
  const addresses = formsOf('/').map(({ query }) => documentAddress(version, '/', query))
  const document = '/api/v1/trees/a%20b/document?path=%2F&branch=main&at=7'
  expect(addresses).toEqual([
    'layout=pretty', 'layout=compact', 'format=yaml', 'format=xml', 'format=csv', 'format=markdown', 'format=ndjson',
  ].map((form) => `${document}&${form}`))
})

test('a part of a tree has no history of its own', () => {
  const endings = formsOf('/beds').map(({ ending }) => ending)
  expect(endings).toEqual(['json', 'json', 'yaml', 'xml', 'csv', 'md'])
})
