/** What people do on the bulletin board, with script and without, in a real browser. */

import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { after, before, test } from 'node:test'
import { launch, logIn, open, openGuarded, serve, turn } from './browser.mjs'

let server
let browser

before(async () => {
  server = await serve()
  browser = await launch()
})

after(async () => {
  await browser?.close()
  await server?.stop()
})

/** A page of somebody, closed when it has been used. */
async function visit(place, run, options = {}) {
  const visitor = await open(browser, `${server.url}${place}`, 'ana', options)
  visitor.page.setDefaultTimeout(45_000)
  try {
    await run(visitor.page)
    assert.deepEqual(visitor.complaints, [])
  } finally {
    await visitor.close()
  }
}

async function make(page, name) {
  await page.goto(`${server.url}/boards`)
  await page.getByLabel('Name').fill(name)
  await page.getByRole('button', { name: 'Make it' }).click()
  await page.getByRole('heading', { name, exact: true }).waitFor()
}

async function post(page, text, author) {
  await page.getByLabel('Message').fill(text)
  if (author !== undefined) await page.getByLabel('Your name').fill(author)
  await page.getByRole('button', { name: 'Post' }).click()
  await page.locator('.message .text', { hasText: text }).first().waitFor()
}

const texts = (page) => page.locator('.message .text').allInnerTexts()

/** The five things that one can do, for those whose browser runs script, and for the others. */
for (const javaScriptEnabled of [true, false]) {
  const kind = javaScriptEnabled ? 'with script' : 'without script'
  test(`boards are made, listed, shown, posted to and edited ${kind}`, { timeout: 180_000 }, () => visit('/', async (page) => {
    const name = `a board/${kind} <b>&amp;</b>`
    await make(page, name)
    await post(page, 'the first', 'ana')
    await post(page, '<script>document.title = "evil"</script>', 'bo <i>')
    assert.deepEqual(await texts(page), ['<script>document.title = "evil"</script>', 'the first'])
    assert.equal(await page.title(), name)
    await page.locator('.message', { hasText: 'the first' }).getByRole('link').click()
    await page.getByLabel('Message').fill('the first, better')
    await page.getByLabel('Your name').fill('chen')
    await page.getByRole('button', { name: 'Save' }).click()
    const edited = page.locator('.message', { hasText: 'the first, better' })
    await edited.getByText('edited').waitFor()
    assert.match(await edited.innerText(), /^ana/, 'it stays that of its author')
    await edited.getByRole('link').click()
    await page.getByRole('heading', { name: 'Earlier versions' }).waitFor()
    await page.locator('.message:not(.old)').getByText(/^edited by chen, /).waitFor()
    const old = page.locator('.message.old')
    assert.deepEqual([await old.locator('strong').innerText(), await old.locator('.text').innerText()], ['ana', 'the first'])
    await page.getByRole('link', { name: 'Boards' }).click()
    const listed = page.locator('.card', { hasText: name })
    assert.match(await listed.innerText(), /2 messages/)
    await listed.click()
    await page.getByRole('heading', { name, exact: true }).waitFor()
  }, { javaScriptEnabled }))
}

test('who may only read is offered no form', { timeout: 180_000 }, () => openGuarded(browser, { ana: 'admin', ben: 'read' }, '/boards', async ({ page, url, complaints, forget }) => {
  await logIn(page, 'ana')
  await page.getByLabel('Name').fill('kept')
  await page.getByRole('button', { name: 'Make it' }).click()
  await post(page, 'hello')
  await forget()
  await page.goto(`${url}/boards/kept`)
  await logIn(page, 'ben')
  await page.getByText('You may read this board, and not post to it.').waitFor()
  assert.deepEqual(await texts(page), ['hello'])
  for (const place of ['/boards/kept', '/boards/kept/0', '/boards']) {
    await page.goto(`${url}${place}`)
    assert.equal(await page.locator('form').count(), 0, place)
  }
  assert.deepEqual(complaints, [])
}))

test('a message that another posts or edits is seen at once', { timeout: 180_000 }, () => visit('/', async (ana) => {
  await make(ana, 'live')
  await post(ana, 'is anybody here?', 'ana')
  const draft = ana.getByLabel('Message')
  await draft.fill('not sent yet')
  await visit('/boards/live', async (bo) => {
    await post(bo, 'I am', 'bo')
    await ana.locator('.message.new', { hasText: 'I am' }).waitFor()
    assert.equal(await draft.inputValue(), 'not sent yet', 'what is being written stays')
    await bo.locator('.message', { hasText: 'I am' }).getByRole('link').click()
    await bo.getByLabel('Message').fill('I am, still')
    await bo.getByRole('button', { name: 'Save' }).click()
    await ana.locator('.message', { hasText: 'I am, still' }).waitFor()
  })
  assert.equal(await ana.getByLabel('Your name').inputValue(), 'ana')
}))

test('a board goes on in a browser that remembers nothing', { timeout: 180_000 }, () => visit('/', async (page) => {
  await make(page, 'forgetful')
  await page.route('**/assets/board.js', async (route) => {
    const script = await (await route.fetch()).text()
    const none = "Object.defineProperty(window, 'localStorage', { get() { throw new DOMException('no', 'SecurityError') } })"
    await route.fulfill({ contentType: 'text/javascript', body: `${none}\n${script}` })
  })
  await post(page, 'hello', 'ana')
  // Times are told as here once the script has come so far.
  await page.waitForFunction(() => !document.querySelector('time').textContent.endsWith('UTC'))
}))

test('a new message is said, and leaves the keyboard where it is', { timeout: 180_000 }, () => visit('/', async (ana) => {
  await make(ana, 'said')
  await post(ana, 'the first', 'ana')
  const said = await ana.getByRole('status').elementHandle()
  const link = ana.locator('.message', { hasText: 'the first' }).getByRole('link')
  await link.focus()
  await visit('/boards/said', async (bo) => {
    await post(bo, 'the second', 'bo')
    await ana.locator('.message', { hasText: 'the second' }).waitFor()
    assert.equal(await said.innerText(), '1 new message')
    assert.equal(await ana.getByText('2 messages, the newest first').count(), 1)
    const isFocused = () => link.evaluate((it) => it === document.activeElement)
    assert.ok(await isFocused())
    await bo.locator('.message', { hasText: 'the first' }).getByRole('link').click()
    await bo.getByLabel('Message').fill('the first, better')
    await bo.getByRole('button', { name: 'Save' }).click()
    await ana.locator('.message', { hasText: 'better' }).waitFor()
    assert.ok(await isFocused())
  })
  assert.deepEqual(await texts(ana), ['the second', 'the first, better'])
}))

test('a tab that nobody sees holds no connection, and catches up when it is seen again', { timeout: 180_000 }, () => visit('/', async (page) => {
  await make(page, 'tabs')
  const tabs = []
  // More than a browser has connections for.
  for (let n = 0; n < 8; n += 1) {
    const tab = await page.context().newPage()
    await tab.goto(page.url())
    await turn(tab, true)
    tabs.push(tab)
  }
  await post(page, 'seen by those who look', 'ana')
  await turn(tabs[0], false)
  await tabs[0].locator('.message', { hasText: 'seen by those who look' }).waitFor()
  assert.deepEqual(await texts(tabs[1]), [])
}))

test('a board that could not be looked at once goes on', { timeout: 180_000 }, () => visit('/', async (ana) => {
  await make(ana, 'once')
  await post(ana, 'first', 'ana')
  await ana.evaluate(() => {
    const real = window.fetch
    window.fetch = () => {
      window.fetch = real
      window.wasAway = true
      return Promise.reject(new TypeError('the server is away'))
    }
  })
  await visit('/boards/once', async (bo) => {
    await post(bo, 'second', 'bo')
    await ana.waitForFunction(() => window.wasAway)
    await post(bo, 'third', 'bo')
  })
  await ana.locator('.message', { hasText: 'third' }).waitFor()
  assert.deepEqual((await texts(ana)).sort(), ['first', 'second', 'third'])
}))

test('an edit of what another has edited meanwhile is not lost, and loses nothing', { timeout: 180_000 }, () => visit('/', async (ana) => {
  await make(ana, 'both')
  await post(ana, 'to be edited', 'ana')
  await ana.locator('.message').getByRole('link').click()
  await visit(new URL(ana.url()).pathname, async (bo) => {
    await bo.getByLabel('Message').fill('as bo wants it')
    await bo.getByRole('button', { name: 'Save' }).click()
    await bo.locator('.message', { hasText: 'as bo wants it' }).waitFor()
  })
  await ana.getByLabel('Message').fill('as ana wants it')
  await ana.getByRole('button', { name: 'Save' }).click()
  await ana.getByRole('alert').waitFor()
  assert.equal(await ana.locator('article .text').innerText(), 'as bo wants it')
  assert.equal(await ana.getByLabel('Message').inputValue(), 'as ana wants it')
  await ana.getByRole('button', { name: 'Save' }).click()
  await ana.locator('.message', { hasText: 'as ana wants it' }).waitFor()
}))

test('a long board is turned over page by page, from either end', { timeout: 180_000 }, () => visit('/', async (page) => {
  await make(page, 'long')
  for (let number = 0; number < 120; number += 1) {
    const answer = await fetch(`${server.url}/boards/long`, {
      method: 'POST', body: new URLSearchParams({ text: `message ${number}`, author: 'ana' }), redirect: 'manual',
    })
    assert.equal(answer.status, 303)
  }
  const turn = async (name, first) => {
    await page.getByRole('link', { name, exact: true }).click()
    await page.locator('.message .text', { hasText: new RegExp(`^message ${first}$`) }).waitFor()
    return (await texts(page))[0]
  }
  await page.reload()
  assert.deepEqual((await texts(page)).slice(0, 2), ['message 119', 'message 118'])
  assert.equal(await turn('Older', 69), 'message 69')
  assert.equal(await turn('Older', 19), 'message 19')
  assert.equal(await page.getByRole('link', { name: 'Older', exact: true }).count(), 0)
  assert.equal(await turn('Newer', 69), 'message 69')
  assert.equal(await turn('Oldest', 0), 'message 49')
  assert.equal(await turn('Newest', 119), 'message 119')
}))

test('a board fits a phone, and is seen in the dark', { timeout: 180_000 }, () => visit('/', async (page) => {
  await make(page, 'phone')
  await post(page, `a long word: ${'x'.repeat(300)}`, 'ana')
  const [width, paper] = await page.evaluate(() => [document.documentElement.scrollWidth, getComputedStyle(document.body).backgroundColor])
  assert.ok(width <= 390, `nothing sticks out: ${width}`)
  const light = paper.match(/\d+/g).slice(0, 3).map(Number)
  assert.ok(Math.max(...light) < 90, `${paper} is dark`)
}, { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true, colorScheme: 'dark' }))

const folder = process.env.JUNGLE_PICTURES
if (folder !== undefined) {
  test('picture board', { timeout: 180_000 }, () => visit('/', async (page) => {
    await make(page, 'The allotment')
    await post(page, 'The water is on again from Saturday.', 'ana')
    await post(page, 'Who has the long ladder?', 'bo')
    await post(page, 'I have it. Come by in the evening, the apples are ripe, too.', 'chen')
    await page.locator('.message', { hasText: 'ladder' }).getByRole('link').click()
    await page.getByLabel('Message').fill('Who has the long ladder? The apples are ripe.')
    await page.getByLabel('Your name').fill('bo')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.locator('.message', { hasText: 'ripe.' }).first().waitFor()
    mkdirSync(folder, { recursive: true })
    await page.screenshot({ path: `${folder}/board.png` })
  }, { viewport: { width: 900, height: 760 } }))
}

test('the status page goes on by itself', { timeout: 180_000 }, () => visit('/boards', async (page) => {
  await page.getByRole('link', { name: 'Status' }).click()
  await page.getByRole('heading', { name: 'Status' }).waitFor()
  const fact = (name) => page.locator('.facts > div', { hasText: name }).locator('dd')
  const before = Number(await fact('Revision').innerText())
  const made = await fetch(`${server.url}/api/v1/trees`, {
    method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"name":"for the status"}',
  })
  assert.equal(made.status, 201)
  await fact('Revision').getByText(String(before + 1), { exact: true }).waitFor()
  for (const title of ['Requests a second', 'Time to an answer', 'Commits a second', 'Memory of the trees']) {
    const chart = page.locator('figure', { hasText: title })
    assert.ok((await chart.locator('path').first().getAttribute('d')).startsWith('M'), title)
    const { width } = await chart.boundingBox()
    assert.ok(width > 200, `${title}: ${width}`)
  }
}))

test('the status page says when nobody answers, and stops where one asks it to', { timeout: 180_000 }, () => visit('/status', async (page) => {
  const told = page.getByRole('status')
  await page.route('**/status', (route) => route.fulfill({ status: 404 }))
  await told.filter({ hasText: /^No answer since .*: all figures are of then \(it is answered 404\)$/ }).waitFor()
  await page.unroute('**/status')
  await told.filter({ hasText: /^$/ }).waitFor({ state: 'attached' })

  // After a log-out it is as if one came anew.
  await page.route('**/status', (route) => (
    route.request().isNavigationRequest() ? route.fallback() : route.fulfill({ status: 403 })
  ))
  const anew = page.waitForNavigation()
  await anew
  await page.unroute('**/status')

  await page.clock.install()
  await page.reload()
  const stop = page.getByRole('button', { name: 'Stop here' })
  await stop.click()
  await page.locator('[aria-pressed="true"]').waitFor()
  let asked = 0
  await page.route('**/status', (route) => { asked += 1; return route.fallback() })
  await page.clock.runFor(60_000)
  assert.equal(asked, 0)
  await stop.click()
  const looked = page.waitForResponse('**/status')
  await page.clock.runFor(4_000)
  await looked
}))

test('the status page can be read without script', { timeout: 180_000 }, () => visit('/status', async (page) => {
  assert.equal(await page.locator('.facts dd').first().innerText().then(Number).then(Number.isInteger), true)
}, { javaScriptEnabled: false }))
