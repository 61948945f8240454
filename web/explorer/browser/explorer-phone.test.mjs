/** What people do with the explorer, in a real browser against a real server: what it is on a phone. */

import assert from 'node:assert/strict'
import { chosen, refuse, row } from './browser.mjs'
import { api, garden, server, visit } from './explorer.mjs'
import { plant } from './garden.mjs'

visit('several lines are written on a phone', garden('lines', '&path=/tools/0'), async (page) => {
  await chosen(page).click()
  await page.getByRole('button', { name: /^edit name/ }).click()
  const field = page.getByLabel('value of name', { exact: true })
  await field.fill('a spade')
  await field.press('Enter')
  await field.pressSequentially('of ana')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('button', { name: 'edit name: "a spade\\nof ana"' }).waitFor()
}, { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true })

visit('a phone shows the tree or the node', garden('phone'), async (page) => {
  await row(page, 'beds').waitFor()
  assert.equal(await page.locator('.panel').isVisible(), false)
  await row(page, 'beds').click()
  await page.getByRole('heading', { name: 'beds' }).waitFor()
  assert.equal(await page.getByRole('tree').isVisible(), false)
  await page.getByRole('button', { name: 'Tree' }).click()
  await page.getByRole('tree').waitFor()
  const seen = async (what) => {
    const { x, width } = await what.boundingBox()
    assert.ok(x >= 0 && x + width <= 390, `${x}, ${width}`)
  }
  // However far the tabs are scrolled, and however deep a node is.
  await row(page, 'beds').click()
  await page.getByRole('link', { name: 'Merge', exact: true }).click()
  await page.getByRole('heading', { name: 'Merge' }).waitFor()
  await seen(page.getByRole('button', { name: 'Tree' }))
  const deep = Array.from({ length: 30 }, (_, at) => `/${'deep/'.repeat(at)}deep`)
  await api.commit('phone', 'ana', 'deep', deep.map((path) => ({ op: 'insert', path })))
  await page.goto(`${server.url}/explorer/?tree=phone&path=${deep.at(-1)}`)
  await chosen(page).locator('.key').waitFor()
  await seen(chosen(page).locator('.key'))
  const width = await page.evaluate(() => document.documentElement.scrollWidth)
  assert.ok(width <= 390, `nothing sticks out: ${width}`)
}, { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true })

const NARROW = { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true }

visit('a narrow phone has all of the way back to the newest, and of a dialog', async () => {
  await plant(api, 'narrow')
  const { revisions } = await api.get('/trees/narrow/revisions')
  return `?tree=narrow&path=/tools/0&at=${revisions[1].revision}`
}, async (page) => {
  const newest = page.getByRole('link', { name: 'to the newest' })
  await newest.waitFor()
  const { x, width } = await newest.boundingBox()
  assert.ok(x >= 0 && x + width <= 360, `${x}, ${width}`)
  await newest.click()
  await chosen(page).click()
  await page.getByRole('button', { name: 'Add a child' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Value').waitFor()
  const [inside, seen] = await dialog.evaluate((it) => [it.scrollWidth, it.clientWidth])
  assert.ok(inside <= seen, `${inside}, ${seen}`)
}, NARROW)

visit('a finger hits all buttons', garden('finger', '&path=/tools/0'), async (page) => {
  const small = () => page.locator('button:visible').evaluateAll((all) => all.flatMap((button) => {
    const { width, height } = button.getBoundingClientRect()
    return width < 35 || height < 35 ? [`${button.ariaLabel ?? button.textContent}: ${width} x ${height}`] : []
  }))
  await chosen(page).click()
  await page.getByRole('button', { name: 'remove name' }).waitFor()
  assert.deepEqual(await small(), [])
  await page.goto(`${server.url}/explorer/`)
  await page.getByRole('button', { name: 'delete finger' }).waitFor()
  assert.deepEqual(await small(), [])
}, NARROW)

visit('a phone shows whether what others do comes at once, and who is read to is told', garden('reach'), async (page) => {
  const isTold = (word) => page.getByRole('status').filter({ hasText: word }).waitFor()
  const colour = () => page.locator('.live').evaluate((it) => getComputedStyle(it).color)
  await isTold('live')
  const live = await colour()
  await page.route('**/watch?*', refuse)
  await page.reload()
  await isTold('connecting')
  assert.ok(await page.locator('.live .word').isVisible())
  assert.notEqual(await colour(), live)
}, NARROW)

visit('a phone tells of the trees of other clusters', '?', async (page) => {
  const log = { stream: 'JUNGLE', first: 1, last: 1, bytes: 100, leader: null, replicas: [], syncs: true }
  const elsewhere = [{ cluster: 'shop', server: 's0', address: 'http://127.0.0.1:1', trees: ['goods'], more: false }]
  await page.route('**/api/v1/cluster', (route) => route.fulfill({ json: { log, servers: [], elsewhere } }))
  await page.reload()
  await page.getByRole('link', { name: 'goods' }).waitFor()
}, NARROW)
