/**
 * The board and the explorer for everybody: held against axe's rules (names, roles, landmarks, language,
 * contrast) in the light and in the dark, and used with the keyboard alone.
 */

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import axe from 'axe-core'
import { Api, launch, logIn, open, openGuarded, serve } from './browser.mjs'
import { plant } from './garden.mjs'

const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']

let server
let browser

before(async () => {
  server = await serve()
  browser = await launch()
  const api = new Api(server.url)
  await plant(api, 'garden')
  await api.commit('garden', 'bo', 'bo has it otherwise', [
    { op: 'put', path: '/', attribute: 'title', value: 'The garden before the mill' },
  ])
  await api.commit('garden', 'dana', 'dana, too', [
    { op: 'put', path: '/', attribute: 'title', value: 'The garden beside the mill' },
  ], 'winter')
  for (let n = 0; n < 60; n += 1) await form('/boards', { name: `board ${n}` })
  for (let n = 0; n < 60; n += 1) await form('/boards/board%200', { author: 'ana', text: `message ${n}` })
  await form('/boards/board%200/59', { author: 'bo', text: 'a message, edited', edits: '0' })
})

after(async () => {
  await browser?.close()
  await server?.stop()
})

async function form(place, fields) {
  const answer = await fetch(`${server.url}${place}`, {
    method: 'POST', body: new URLSearchParams(fields), redirect: 'manual',
  })
  assert.equal(answer.status, 303, `${place}: ${await answer.text()}`)
}

/** A page of somebody, closed when it has been used. */
async function visit(url, run, options = {}) {
  const visitor = await open(browser, url, 'ana', options)
  visitor.page.setDefaultTimeout(45_000)
  try {
    await run(visitor.page)
    assert.deepEqual(visitor.complaints, [])
  } finally {
    await visitor.close()
  }
}

/** Holds what is shown against the rules. */
async function check(page, what) {
  await page.evaluate(axe.source)
  const run = (values) => globalThis.axe.run(document, { runOnly: { type: 'tag', values } })
  const { violations, passes } = await page.evaluate(run, RULES)
  const told = violations.flatMap(({ id, nodes }) => nodes.map(
    ({ target, failureSummary, html }) => `${id}: ${target.join(' ')} ${html}\n  ${failureSummary}`,
  ))
  assert.deepEqual(told, [], what)
  assert.ok(passes.length > 15, `${what}: only ${passes.length} rules were met`)
}

/** How much lighter or darker a text is than what is under it; axe looks at no placeholder, and at no single sign. */
function contrast(element, part) {
  const numbers = (color) => color.match(/[\d.]+/g).map(Number)
  const light = (color) => color.map((channel) => channel / 255)
    .map((share) => (share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4))
    .reduce((sum, share, at) => sum + share * [0.2126, 0.7152, 0.0722][at], 0)
  let under = element
  while (numbers(getComputedStyle(under).backgroundColor)[3] === 0) under = under.parentElement
  const back = numbers(getComputedStyle(under).backgroundColor).slice(0, 3)
  const { color, opacity } = getComputedStyle(element, part)
  const seen = back.map((channel, at) => channel + (numbers(color)[at] - channel) * Number(opacity))
  const [low, high] = [light(seen), light(back)].sort((left, right) => left - right)
  return (high + 0.05) / (low + 0.05)
}

/** Where one is on the board, and what must be there before it is looked at. */
const BOARD = [
  ['the first boards', '/boards', '.card'],
  ['boards in the middle', '/boards?after=board%2010&limit=10', 'nav.pages'],
  ['a board', '/boards/board%200', '.message'],
  ['older messages', '/boards/board%200?before=30&limit=10', '.message'],
  ['a message', '/boards/board%200/59', '.message.old'],
  ['no board', '/boards/nothing', '.refused'],
  ['the status', '/status', 'figure'],
]

const EXPLORER = [
  ['the trees', '', 'text=garden'],
  ['a node', '?tree=garden&path=/beds/vegetables/0', '.attributes dt'],
  ['an old node', '?tree=garden&path=/beds/vegetables/0&at=9', '.attributes dt'],
  ['the picture', '?tree=garden&view=graph', '.picture .leaf'],
  ['changes', '?tree=garden&view=changes', '.change'],
  ['the history', '?tree=garden&view=history', 'text=a better note'],
  ['branches', '?tree=garden&view=branches', 'text=winter'],
  ['a merge', '?tree=garden&view=merge&merge=winter', '.conflict'],
  ['a search', '?tree=garden&view=search&find=sunny%20%3D%20true', 'text=berries'],
]

for (const colorScheme of ['light', 'dark']) {
  for (const [kind, places] of [['/boards', BOARD], ['/explorer/', EXPLORER]]) {
    for (const [what, place, sign] of places) {
      const url = () => `${server.url}${kind === '/boards' ? place : kind + place}`
      test(`${kind}, ${what}, is for everybody in the ${colorScheme}`, { timeout: 180_000 }, () => visit(
        url(), async (page) => {
          await page.locator(sign).first().waitFor()
          await check(page, what)
        }, { colorScheme },
      ))
    }
  }

  test(`what fields are for, and the crosses, can be read in the ${colorScheme}`, { timeout: 180_000 }, () => visit(
    `${server.url}/explorer/?tree=garden&path=/tools/0`, async (page) => {
      await page.getByRole('button', { name: 'remove name' }).waitFor()
      for (const [what, part] of [['#search', '::placeholder'], ['#new-attribute', '::placeholder'], ['.meta button']]) {
        const found = await page.locator(what).first().evaluate(contrast, part)
        assert.ok(found >= 4.5, `${what}: ${found}`)
      }
    }, { colorScheme },
  ))

  const logsIn = (run) => openGuarded(browser, { ana: 'admin' }, '/boards', run, { colorScheme })
  test(`the page to log in is for everybody in the ${colorScheme}`, { timeout: 180_000 }, () => logsIn(
    async ({ page, url, complaints }) => {
      await page.getByLabel('Password').waitFor()
      await check(page, 'the page to log in')
      await logIn(page, 'ana', 'wrong')
      await page.getByRole('alert').waitFor()
      await check(page, 'a wrong password')
      await logIn(page, 'ana')
      await page.getByRole('heading', { name: 'Boards' }).waitFor()
      await page.goto(`${url}/login`)
      await page.getByRole('button', { name: 'Log out' }).waitFor()
      await check(page, 'who is logged in')
      assert.deepEqual(complaints, [])
    },
  ))
}

/** What the keyboard reaches with so many steps, one after the other: roles and names. */
async function reached(page, steps) {
  const found = []
  for (let step = 0; step < steps; step += 1) {
    await page.keyboard.press('Tab')
    found.push(await page.evaluate(() => {
      const it = document.activeElement
      const label = it.getAttribute('aria-label') ?? it.labels?.[0]?.textContent ?? it.textContent
      const { outlineStyle } = getComputedStyle(it)
      const name = label.trim().replace(/\s+/g, ' ').slice(0, 40)
      return `${it.localName} ${name}${outlineStyle === 'none' ? ', which does not show it' : ''}`
    }))
  }
  return found
}

test('the keyboard goes through a board as it is read', { timeout: 180_000 }, () => visit(
  `${server.url}/boards/board%200`, async (page) => {
    await page.locator('.message').first().waitFor()
    const found = await reached(page, 6)
    assert.deepEqual(found.slice(0, 5), [
      'a Boards', 'a board 0', 'textarea Message', 'input Your name', 'button Post',
    ])
    assert.match(found[5], /^a .*edited$/)
  },
))

test('the keyboard goes through the list of boards as it is read', { timeout: 180_000 }, () => visit(
  `${server.url}/boards?limit=2&after=board%201`, async (page) => {
    assert.deepEqual(await reached(page, 9), [
      'a Boards', 'a board 10 0 messages', 'a board 11 0 messages', 'a First', 'a Previous', 'a Next', 'a Last',
      'input Name', 'button Make it',
    ])
  },
))

test('the tree says where one is in it', { timeout: 180_000 }, () => visit(
  `${server.url}/explorer/?tree=garden&path=/beds/berries`, async (page) => {
    const row = page.locator('.row.chosen')
    await row.waitFor()
    const tree = page.getByRole('tree')
    assert.notEqual(await tree.getAttribute('aria-label'), null)
    const said = (name) => row.getAttribute(name)
    assert.deepEqual(
      [await said('role'), await said('aria-level'), await said('aria-posinset'), await said('aria-setsize'),
        await said('aria-selected')],
      ['treeitem', '3', '1', '4', 'true'],
    )
    assert.equal(await tree.getAttribute('aria-activedescendant'), await said('id'))
    // One step leads into the tree, and the next out of it, however many rows there are.
    await tree.focus()
    await page.keyboard.press('Tab')
    assert.equal(await tree.evaluate((it) => it.contains(document.activeElement)), false)
    await page.keyboard.press('Shift+Tab')
    assert.equal(await tree.evaluate((it) => it === document.activeElement), true)
  },
))

test('a dialog keeps the keyboard, and gives it back', { timeout: 180_000 }, () => visit(
  `${server.url}/explorer/?tree=garden`, async (page) => {
    await page.locator('.row.chosen').waitFor()
    await page.keyboard.press('?')
    const dialog = page.getByRole('dialog')
    await dialog.waitFor()
    await check(page, 'the help')
    for (let step = 0; step < 10; step += 1) {
      await page.keyboard.press('Tab')
      const inside = await dialog.evaluate((it) => {
        const { activeElement } = document
        return it.contains(activeElement) || activeElement === document.body
      })
      assert.ok(inside, 'the keyboard has left the dialog')
    }
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
  },
))
