/** What people do with the explorer, in a real browser against a real server: what is written and not saved yet. */

import assert from 'node:assert/strict'
import { query, refuse, row } from './browser.mjs'
import { api, drawn, garden, hold, visit } from './explorer.mjs'

visit('what was written stays when the server does not take it', garden('typed', '&path=/tools/0'), async (page) => {
  const field = page.getByLabel('value of name', { exact: true })
  await page.getByRole('button', { name: /^edit name/ }).click()
  await field.fill('a new spade')
  const asked = /\/(commits|node)\?/
  await page.route(asked, refuse)
  const node = page.waitForResponse(/\/node\?/)
  await page.getByRole('button', { name: 'Save' }).click()
  await node
  await drawn(page)
  assert.equal(await field.inputValue(), 'a new spade')
  const [name, value] = [page.getByLabel('name of a new attribute'), page.getByLabel('value of a new attribute')]
  await name.fill('place')
  await value.fill('in the shed')
  const commit = page.waitForResponse(/\/commits\?/)
  await value.press('Enter')
  await commit
  await drawn(page)
  assert.deepEqual([await name.inputValue(), await value.inputValue()], ['place', 'in the shed'])
  await page.unroute(asked)
  await value.press('Enter')
  await page.locator('.attributes dt', { hasText: 'place' }).waitFor()
  await page.waitForFunction(() => document.getElementById('new-attribute').value === '')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('button', { name: 'edit name: "a new spade"' }).waitFor()
})

visit('what is written stays wherever one goes, and when others delete the node', garden('draft', '&path=/tools/0'), async (page) => {
  await page.locator('.live', { hasText: 'live' }).waitFor()
  const field = page.getByLabel('value of name', { exact: true })
  const fresh = page.getByLabel('name of a new attribute')
  const unsaved = page.locator('.unsaved')
  await page.getByRole('button', { name: /^edit name/ }).click()
  await field.fill('a spade of ana')
  await fresh.fill('place')
  // So does another one that is edited besides.
  await page.getByRole('button', { name: /^edit borrowed/ }).click()
  await page.getByLabel('value of borrowed', { exact: true }).waitFor()
  const stays = async () => {
    await field.waitFor()
    assert.deepEqual([await field.inputValue(), await fresh.inputValue()], ['a spade of ana', 'place'])
    assert.equal(await unsaved.innerText(), '')
  }
  await stays()

  await row(page, 'rake').click()
  await page.getByRole('heading', { name: 'rake' }).waitFor()
  await field.waitFor({ state: 'detached' })
  await unsaved.getByText('Not saved: name, place').waitFor()
  await unsaved.getByRole('link', { name: '/tools/0' }).click()
  await stays()
  assert.equal(await page.getByLabel('value of borrowed', { exact: true }).count(), 0, 'nothing was written there')

  await page.getByRole('slider', { name: 'revision', exact: true }).press('ArrowLeft')
  await unsaved.getByText('Not saved: name, place').waitFor()
  await field.waitFor({ state: 'detached' })
  await page.getByRole('link', { name: 'to the newest' }).click()
  await stays()

  await page.getByRole('link', { name: 'History', exact: true }).click()
  await unsaved.getByRole('link', { name: '/tools/0' }).click()
  await stays()

  await api.commit('draft', 'bo', 'the spade goes', [{ op: 'remove', path: '/tools/0' }])
  await page.getByText('Not there any more').waitFor()
  await unsaved.getByText('What you wrote', { exact: true }).click()
  assert.equal(await unsaved.getByLabel('what you wrote as name').inputValue(), 'a spade of ana')
  await unsaved.getByRole('button', { name: 'Discard' }).press('Enter')
  await unsaved.getByRole('link').waitFor({ state: 'detached' })
  await page.locator('.sheet h1:focus').waitFor()
})

visit('what went wrong is said until it is dismissed or something newer is said, what went well for a while', garden('said', '&path=/tools/0'), async (page) => {
  const commits = /\/commits\?/
  const bad = page.locator('.notice.bad')
  const remove = page.getByRole('button', { name: 'remove name' })
  await page.clock.install()
  await page.reload()
  await page.route(commits, refuse)
  const fail = async () => {
    await remove.click()
    await page.getByRole('alert').waitFor()
  }
  await fail()
  await page.clock.fastForward('01:00')
  assert.equal(await bad.count(), 1)
  await page.keyboard.press('Escape')
  await bad.waitFor({ state: 'detached' })
  await fail()
  // The keyboard goes on with the page when the button is gone.
  await bad.getByRole('button', { name: 'dismiss' }).press('Enter')
  await bad.waitFor({ state: 'detached' })
  await page.locator('.sheet h1:focus').waitFor()
  await fail()
  await page.unroute(commits)
  await page.locator('.sheet').getByRole('button', { name: 'Delete', exact: true }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
  const good = page.locator('.notice', { hasText: 'is deleted' })
  await good.waitFor()
  assert.equal(await bad.count(), 0)
  await page.clock.fastForward('00:10')
  await good.waitFor({ state: 'detached' })
})

visit('what was saved while one was elsewhere is not there again', garden('again', '&path=/tools/0'), async (page) => {
  const name = page.getByLabel('name of a new attribute')
  await name.fill('place')
  const { asked, answer } = await hold(page, /\/commits\?/)
  await name.press('Enter')
  await asked
  await row(page, 'rake').click()
  await page.getByRole('heading', { name: 'rake' }).waitFor()
  await row(page, 'spade').click()
  await page.getByRole('heading', { name: 'spade' }).waitFor()
  const search = page.getByRole('searchbox')
  await search.focus()
  await answer()
  await page.waitForFunction(() => document.getElementById('new-attribute').value === '')
  assert.ok(await search.evaluate((it) => it === document.activeElement))
})

visit('what is written can be edited where the address has quotes that need not be', garden('quoted', '&path=/"tools"/0'), async (page) => {
  await page.getByRole('button', { name: /^edit name/ }).click()
  await page.getByLabel('value of name', { exact: true }).fill('a spade of ana')
  await page.getByRole('button', { name: /^edit borrowed/ }).click()
  await page.getByLabel('value of borrowed', { exact: true }).waitFor()
  assert.equal(await page.locator('.unsaved').innerText(), '')
})

visit('what is written of a node goes along where one moves it, and goes where one deletes it', garden('carried', '&path=/tools/0'), async (page) => {
  const field = page.getByLabel('value of name', { exact: true })
  const unsaved = page.locator('.unsaved')
  const dialog = page.getByRole('dialog')
  const above = page.getByRole('navigation', { name: 'path' }).getByRole('link', { name: 'beds' })
  await page.getByRole('button', { name: /^edit name/ }).click()
  await field.fill('a spade of ana')
  await page.getByRole('button', { name: 'Move', exact: true }).click()
  // Quotes that need not be.
  await dialog.getByLabel('To the path').fill('/beds/"spade"')
  await dialog.getByRole('button', { name: 'Move' }).click()
  await above.waitFor()
  await field.waitFor()
  assert.equal(await field.inputValue(), 'a spade of ana')
  assert.equal(await unsaved.innerText(), '')
  assert.equal(query(page).get('path'), '/beds/spade')
  await above.click()
  await page.getByRole('heading', { name: 'beds' }).waitFor()
  await unsaved.getByRole('link', { name: '/beds/spade' }).waitFor()
  await page.locator('.sheet').getByRole('button', { name: 'Delete', exact: true }).click()
  await dialog.getByText('What you wrote there and have not saved goes, too.').waitFor()
  await dialog.getByRole('button', { name: 'Delete' }).click()
  await unsaved.getByRole('link').waitFor({ state: 'detached' })
})

visit('what is written of a tree goes along where one renames it, and goes where one deletes it', garden('renamed', '&path=/tools/0'), async (page) => {
  const field = page.getByLabel('value of name', { exact: true })
  const unsaved = page.locator('.unsaved')
  const dialog = page.getByRole('dialog')
  const home = page.locator('a.home')
  await page.getByRole('button', { name: /^edit name/ }).click()
  await field.fill('a spade of ana')
  await home.click()
  await unsaved.getByRole('link', { name: 'renamed/tools/0', exact: true }).waitFor()
  await page.getByRole('button', { name: 'rename renamed', exact: true }).click()
  await dialog.getByLabel('New name').fill('called')
  await dialog.getByRole('button', { name: 'Rename' }).click()
  await unsaved.getByRole('link', { name: 'called/tools/0', exact: true }).click()
  await field.waitFor()
  assert.equal(await field.inputValue(), 'a spade of ana')
  assert.equal(await unsaved.innerText(), '')
  await home.click()
  const remove = page.getByRole('button', { name: 'delete called', exact: true })
  const again = () => dialog.getByRole('button', { name: 'Delete', exact: true }).click()
  await remove.click()
  await dialog.getByText('What you wrote there and have not saved goes, too.').waitFor()
  // Where the tree stays, so does what is written, and why is told where it was asked.
  await page.route('**/api/v1/trees/called', refuse, { times: 1 })
  await again()
  await dialog.getByRole('alert').waitFor()
  await unsaved.getByRole('link', { name: 'called/tools/0', exact: true, includeHidden: true }).waitFor()
  await again()
  await remove.waitFor({ state: 'detached' })
  assert.equal(await unsaved.innerText(), '')
})

visit('what is written of a branch goes where one deletes it, once it is gone', garden('twig', '&path=/tools/0&branch=winter'), async (page) => {
  const unsaved = page.locator('.unsaved')
  const dialog = page.getByRole('dialog')
  await page.getByRole('button', { name: /^edit name/ }).click()
  await page.getByLabel('value of name', { exact: true }).fill('a spade of ana')
  await page.getByRole('link', { name: 'Branches', exact: true }).click()
  await unsaved.getByRole('link', { name: '/tools/0 on winter', exact: true }).waitFor()
  const remove = page.getByRole('button', { name: 'delete branch winter' })
  const again = () => dialog.getByRole('button', { name: 'Delete', exact: true }).click()
  await remove.click()
  await dialog.getByText('What you wrote there and have not saved goes, too.').waitFor()
  await page.route('**/branches/winter', refuse, { times: 1 })
  await again()
  await dialog.getByRole('alert').waitFor()
  assert.notEqual(await unsaved.innerText(), '')
  await again()
  await remove.waitFor({ state: 'detached' })
  assert.equal(await unsaved.innerText(), '')
  assert.equal(query(page).get('branch'), null)
})

visit('who leaves the page is asked where something is not saved, and only there', garden('leaving', '&path=/tools/0'), async (page) => {
  const edit = page.getByRole('button', { name: /^edit name/ })
  const field = page.getByLabel('value of name', { exact: true })
  const asked = []
  page.on('dialog', async (dialog) => {
    asked.push(dialog.type())
    // The first time one stays.
    await (asked.length === 1 ? dialog.dismiss() : dialog.accept())
  })
  // Opened, and nothing written.
  await edit.click()
  await field.waitFor()
  await page.reload()
  await edit.click()
  assert.deepEqual(asked, [])
  await field.fill('a spade of ana')
  const told = page.waitForEvent('dialog')
  // The page waits for the answer, and this must not wait for the page.
  await page.evaluate(() => { setTimeout(() => location.reload()) })
  await told
  assert.equal(await field.inputValue(), 'a spade of ana')
  await page.reload()
  await edit.waitFor()
  assert.deepEqual(asked, ['beforeunload', 'beforeunload'])
})
