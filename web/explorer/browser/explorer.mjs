/** What all tests of the explorer have in common: a server, a browser, and pages of them. */

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Api, launch, open, serve } from './browser.mjs'
import { plant } from './garden.mjs'

export let server
export let browser
export let api

before(async () => {
  server = await serve()
  browser = await launch()
  api = new Api(server.url)
})

after(async () => {
  await browser?.close()
  await server?.stop()
})

/** One test: a page of `who`, at an address of the explorer. It is run with the test, to tell of it. */
export function visit(name, query, run, options = {}) {
  test(name, { timeout: 180_000 }, async (context) => {
    const at = typeof query === 'function' ? await query() : query
    const { who = 'ana', ...seen } = options
    const visitor = await open(browser, `${server.url}/explorer/${at}`, who, seen)
    visitor.page.setDefaultTimeout(45_000)
    try {
      await run(visitor.page, context)
      assert.deepEqual(visitor.complaints, [])
    } finally {
      await visitor.close()
    }
  })
}

export const garden = (name, query = '') => async () => {
  await plant(api, name)
  return `?tree=${name}${query}`
}

/** Until what has come is on the screen. */
export const drawn = (page) => page.evaluate(() => (
  new Promise((resolve) => { requestAnimationFrame(() => requestAnimationFrame(resolve)) })
))

/** Keeps back the answer to the first request like that, once it was `asked`, until `answer` lets it come. */
export async function hold(page, isLike) {
  let take
  const asked = new Promise((resolve) => { take = resolve })
  await page.route(isLike, (route) => take(route), { times: 1 })
  const answer = async () => {
    const route = await asked
    const come = page.waitForEvent('requestfinished', (request) => request === route.request())
    await route.continue()
    await come
    await drawn(page)
  }
  return { asked, answer }
}
