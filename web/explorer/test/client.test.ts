import { afterEach, expect, test, vi } from 'vitest'
import { children } from '../src/api/client.ts'

afterEach(() => { vi.unstubAllGlobals() })

const child = (key: string) => ({ key, path: `/${key}`, attributes: {}, child_count: 0, subtree_count: 1 })

test('children of several pages are as old as the first, whatever is committed between them', async () => {
  const pages = [
    { revision: 7, path: '/', child_count: 3, children: [child('0'), child('1')], next: '1' },
    { revision: 8, path: '/', child_count: 4, children: [child('2')], next: null },
  ]
  const asked: string[] = []
  vi.stubGlobal('fetch', (url: string) => {
    asked.push(url)
    return Promise.resolve(new Response(JSON.stringify(pages[asked.length - 1])))
  })
  const found = await children({ tree: 't', branch: 'main' }, '/', 0, 100)
  expect(asked).toEqual([
    '/api/v1/trees/t/children?path=%2F&branch=main&offset=0&limit=100',
    '/api/v1/trees/t/children?path=%2F&branch=main&after=1&limit=98',
  ])
  expect({ ...found, children: found.children.map(({ key }) => key) }).toEqual({ revision: 7, count: 3, children: ['0', '1', '2'] })
})
