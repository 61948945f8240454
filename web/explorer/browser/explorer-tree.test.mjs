/** What people do with the explorer, in a real browser against a real server: the list of trees, and the tree with its rows. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chosen, query, refuse, row } from './browser.mjs'
import { api, browser, drawn, garden, hold, server, visit } from './explorer.mjs'
import { plant, sow } from './garden.mjs'

visit('trees are made, renamed and deleted', '?', async (page) => {
  await page.getByLabel('name of a new tree').fill('a tree/with "odd" <b>name</b>')
  await page.getByRole('button', { name: 'Create' }).click()
  await page.locator('.row.chosen').waitFor()
  await page.getByRole('link', { name: 'Jungle' }).click()
  await page.getByRole('button', { name: /^rename a tree/ }).click()
  await page.getByLabel('New name').fill('plain')
  await page.getByRole('button', { name: 'Rename', exact: true }).click()
  await page.getByRole('link', { name: 'plain', exact: true }).waitFor()
  await page.getByRole('button', { name: 'delete plain' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('link', { name: 'plain', exact: true }).waitFor({ state: 'detached' })
})

visit('the tree is walked with the keyboard', garden('walk'), async (page) => {
  await page.locator('.row').nth(2).waitFor()
  const tree = page.getByRole('tree')
  await tree.focus()
  const press = async (key, path) => {
    await tree.press(key)
    await page.waitForFunction((wanted) => (new URLSearchParams(location.search).get('path') ?? '/') === wanted, path)
  }
  await press('ArrowDown', '/beds')
  await tree.press('ArrowRight')
  await row(page, 'Herbs').waitFor()
  assert.equal(await chosen(page).getAttribute('aria-expanded'), 'true')
  await press('ArrowRight', '/beds/berries')
  await press('ArrowDown', '/beds/herbs')
  await press('ArrowLeft', '/beds')
  await press('End', '/tools')
  await press('Home', '/')
  await tree.press('m')
  const [level, active] = [await chosen(page).getAttribute('aria-level'), await tree.getAttribute('aria-activedescendant')]
  assert.deepEqual([level, active], ['1', 'row-0'])
  await page.waitForFunction(() => getComputedStyle(document.querySelector('[role=tree]')).outlineStyle !== 'none')
  await press('ArrowDown', '/beds')
  await page.getByRole('heading', { name: 'beds' }).waitFor()
  assert.equal(await page.getByRole('dialog').count(), 0, 'the tree itself is not moved, and nothing asked about another')
})

visit('a node that comes late is not shown for another', garden('late'), async (page) => {
  await row(page, 'tools').waitFor()
  const heading = page.locator('.sheet h1')
  await heading.filter({ hasText: 'late' }).waitFor()
  const tree = page.getByRole('tree')
  await tree.focus()
  const beds = await hold(page, (url) => url.pathname.endsWith('/node') && url.searchParams.get('path') === '/beds')
  await tree.press('ArrowDown')
  await beds.asked
  await tree.press('ArrowUp')
  await page.waitForFunction(() => !new URLSearchParams(location.search).has('path'))
  await beds.answer()
  assert.equal(await heading.innerText(), 'late')
})

visit('a million children are scrolled through', async () => {
  await sow(api, 'million', 1_000_000)
  return '?tree=million'
}, async (page) => {
  await page.locator('#row-5 .key').waitFor()
  const tree = page.getByRole('tree')
  await tree.focus()
  await tree.press('End')
  await page.locator('#row-1000000.chosen').waitFor()
  assert.equal(query(page).get('path'), '/999999')
  assert.ok(await page.locator('.row').count() < 80, 'only what is seen is there')
  await tree.press('Home')
  await page.locator('#row-0.chosen').waitFor()
  await tree.evaluate((element) => { element.scrollTop = element.scrollHeight / 2 })
  // What was seen before is there still, until the browser has scrolled.
  await page.waitForFunction(() => {
    const middle = document.querySelectorAll('.row')[15]?.getAttribute('aria-posinset')
    return Math.abs(Number(middle) - 500_000) < 1000
  })
  await page.waitForFunction(() => document.querySelectorAll('.row .waiting').length === 0)
})

visit('an address shows a node far down in a million, and a revision', async () => '?tree=million&path=/765432', async (page) => {
  await chosen(page).waitFor()
  assert.equal(await chosen(page).getAttribute('aria-posinset'), '765433')
  await page.locator('.attributes dt', { hasText: 'no name' }).waitFor()
  assert.equal(await page.getByRole('alert').count(), 0, 'nothing is wrong before anything was written')
  assert.ok(await chosen(page).isVisible())
})

/** Far more than it takes: the machine may have other work. */
const SHOWN_WITHIN_MS = 5_000

visit('the first and the last of a million children are shown within seconds', '?tree=million', async (page, context) => {
  await page.locator('#row-5 .key').waitFor()
  // Since the browser was told where to go.
  const first = await page.evaluate(() => performance.now())
  const tree = page.getByRole('tree')
  await tree.focus()
  const pressed = performance.now()
  await tree.press('End')
  await page.locator('#row-1000000.chosen .key').waitFor()
  const last = performance.now() - pressed
  const told = `the first rows after ${Math.round(first)} ms, the last ${Math.round(last)} ms after the key`
  context.diagnostic(told)
  assert.ok(Math.max(first, last) <= SHOWN_WITHIN_MS, told)
})

visit('a node is dragged below another', garden('drag'), async (page) => {
  const named = (key) => page.locator('.row', { has: page.locator('.key', { hasText: new RegExp(`^${key}$`) }) })
  await named('tools').dragTo(named('beds'))
  await page.waitForFunction(() => new URLSearchParams(location.search).get('path') === '/beds/tools')
  await page.getByRole('heading', { name: 'tools' }).waitFor()
  const { child_count } = await api.get('/trees/drag/node?path=/beds/tools')
  assert.ok(child_count > 0)
})

test('what comes before the first frame is shown, too', { timeout: 180_000 }, async () => {
  await plant(api, 'early')
  const context = await browser.newContext()
  // A browser that has much to do is late with frames and timers.
  await context.addInitScript(() => {
    const later = window.setTimeout
    window.requestAnimationFrame = () => 0
    window.setTimeout = (what, ms, ...more) => later(what, (ms ?? 0) + 1_000, ...more)
  })
  const page = await context.newPage()
  await page.goto(`${server.url}/explorer/`)
  await page.getByRole('link', { name: 'early' }).waitFor()
  await context.close()
})

visit('who goes into the past while a node is looked for is told of nothing', async () => {
  await sow(api, 'apart', 1_000)
  return '?tree=apart'
}, async (page) => {
  const { asked } = await hold(page, (url) => url.pathname.endsWith('/children') && url.searchParams.get('limit') === '1')
  await page.goto(`${server.url}/explorer/?tree=apart&path=/900`)
  await asked
  await page.keyboard.press('[')
  await page.locator('.timeline.past').waitFor()
  await drawn(page)
  assert.equal(await page.locator('.notice').count(), 0)
})

visit('a tree of which the server tells nothing is asked for again', garden('untold'), async (page) => {
  const revisions = /\/revisions\?/
  await page.route(revisions, refuse)
  await page.reload()
  const again = page.getByRole('button', { name: 'Try again' })
  await again.waitFor()
  await page.unroute(revisions)
  await again.click()
  await row(page, 'tools').waitFor()
})
