/** What people do with the explorer, in a real browser against a real server: searches and pictures. */

import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { chosen, row } from './browser.mjs'
import { api, drawn, garden, server, visit } from './explorer.mjs'
import { plant, sow } from './garden.mjs'

visit('words and expressions are searched for', garden('find'), async (page) => {
  await row(page, 'beds').waitFor()
  await page.keyboard.press('/')
  await page.keyboard.type('watered = true and planted > 2022')
  await page.keyboard.press('Enter')
  await page.locator('.results li').filter({ hasText: 'Chard' }).waitFor()
  assert.equal(await page.locator('.results li').count(), 2)
  await page.getByRole('link', { name: '/beds/vegetables/4' }).click()
  await page.locator('.row.chosen', { hasText: 'Chard' }).waitFor()
  await page.keyboard.press('/')
  await page.getByRole('searchbox').fill('chard')
  await page.keyboard.press('Enter')
  await page.getByText(/^Nothing found/).waitFor()
  await page.getByText(/^Words are looked for as they are written, capitals and all/).waitFor()
  await page.getByRole('searchbox').fill('Chard')
  await page.keyboard.press('Enter')
  await page.locator('.results li').filter({ hasText: 'Chard' }).waitFor()
  await page.locator('.expression', { hasText: '@name ~ "Chard"' }).waitFor()
  await drawn(page)
  assert.equal(await page.getByRole('searchbox').inputValue(), 'Chard', 'the words are there to be changed')
  await page.getByRole('searchbox').fill('Chart')
  await page.keyboard.press('Enter')
  await page.locator('.expression', { hasText: '@name ~ "Chart"' }).waitFor()
  await page.goBack()
  await page.waitForFunction(() => document.getElementById('search').value === 'Chard')
  await page.getByRole('searchbox').fill('planted >')
  await page.keyboard.press('Enter')
  await page.locator('pre.wrong', { hasText: '^' }).waitFor()
})

visit('what was found stays while others commit', async () => {
  await sow(api, 'busy', 250)
  const put = Array.from({ length: 250 }, (_, at) => ({ op: 'put', path: `/${at}`, attribute: 'odd', value: at % 2 === 1 }))
  await api.commit('busy', 'ana', 'odd and even', put)
  return '?tree=busy&view=search&find=exists%20odd'
}, async (page) => {
  const found = page.locator('.results li')
  await found.nth(99).waitFor()
  await page.getByRole('button', { name: 'More' }).click()
  await found.nth(199).waitFor()
  const { revision } = await api.commit('busy', 'bo', 'no more', [{ op: 'unset', path: '/0', attribute: 'odd' }])
  const again = page.getByRole('button', { name: `Search revision ${revision}` })
  await again.waitFor()
  assert.equal(await found.count(), 200)
  await again.click()
  await again.waitFor({ state: 'detached' })
  await found.filter({ hasText: /^\/100/ }).waitFor()
  assert.equal(await found.count(), 100)

  // What is shown of the past stays whatever is committed.
  await page.goto(`${server.url}/explorer/?tree=busy&view=search&find=exists%20odd&at=${revision}`)
  await found.nth(99).waitFor()
  let asked = 0
  page.on('request', (request) => { if (request.url().includes('/search?')) asked += 1 })
  await api.commit('busy', 'bo', 'and again', [{ op: 'put', path: '/', attribute: 'n', value: 1 }])
  await page.waitForFunction(() => document.querySelector('.timeline input').max === '4')
  await page.evaluate(() => new Promise((resolve) => { requestAnimationFrame(() => requestAnimationFrame(resolve)) }))
  assert.equal(asked, 0)
})

visit('a picture shows what is below', garden('drawn', '&path=/beds&view=graph'), async (page) => {
  await page.getByRole('link', { name: '/beds/herbs/3' }).click()
  await page.waitForURL(/herbs\/3/)
  await page.locator('.row.chosen', { hasText: 'Mint' }).waitFor()
  await api.commit('drawn', 'bo', 'renamed', [{ op: 'put', path: '/beds/herbs/3', attribute: 'name', value: 'Catnip' }])
  await page.locator('.picture', { hasText: 'Catnip' }).waitFor()
})

const PICTURES = {
  'explorer': ['&path=/beds/vegetables/0', {}],
  'explorer-dark': ['&path=/beds/vegetables/0', { colorScheme: 'dark' }],
  'explorer-changes': ['&path=/beds/vegetables/0&view=changes', {}],
  'explorer-merge': ['&path=/beds/vegetables/0&view=merge&merge=winter', {}],
  'explorer-graph': ['&path=/beds&view=graph', {}],
  'explorer-phone': ['&path=/beds/vegetables/0', { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true }],
}

/** Where pictures are put; without it none are taken. */
const folder = process.env.JUNGLE_PICTURES

for (const [name, [query, options]] of Object.entries(folder === undefined ? {} : PICTURES)) {
  visit(`picture ${name}`, async () => {
    await api.ask('DELETE', '/trees/garden').catch(() => {})
    await plant(api)
    return `?tree=garden${query}`
  }, async (page) => {
    await chosen(page).waitFor()
    await page.waitForLoadState('load')
    await page.waitForFunction(() => document.querySelector('.sheet h1') !== null)
    mkdirSync(folder, { recursive: true })
    await page.screenshot({ path: `${folder}/${name}.png` })
  }, options)
}
