/** What people do with the explorer, in a real browser against a real server: what others do at the same time. */

import assert from 'node:assert/strict'
import { open, refuse, row, turn } from './browser.mjs'
import { api, browser, drawn, garden, hold, server, visit } from './explorer.mjs'
import { plant } from './garden.mjs'

const STREAM = '**/watch?*'

/** The page, loaded again, to which the server refuses its live stream. */
async function withoutStream(page) {
  await page.route(STREAM, refuse)
  const refused = page.waitForResponse(STREAM)
  await page.reload()
  await refused
}

visit('what another does is seen at once', garden('both', '&path=/tools/0'), async (page) => {
  await page.locator('.live', { hasText: 'live' }).waitFor()
  const other = await open(browser, `${server.url}/explorer/?tree=both&path=/tools`, 'bo')
  try {
    await other.page.getByLabel('name of a new attribute').fill('place')
    await other.page.getByLabel('value of a new attribute').fill('in the shed')
    await other.page.getByLabel('value of a new attribute').press('Enter')
    await row(page, 'in the shed').waitFor()
    await page.locator('.told', { hasText: 'bo' }).waitFor()
    // Both edit the same value: the later one is told, and sees what is there now.
    const edit = async (by, value) => {
      await by.getByRole('button', { name: /^edit name/ }).click()
      await by.getByLabel('value of name', { exact: true }).fill(value)
    }
    await edit(page, 'a spade of ana')
    await api.commit('both', 'bo', 'renamed', [{ op: 'put', path: '/tools/0', attribute: 'name', value: 'a spade of bo' }])
    await row(page, 'a spade of bo').waitFor()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.locator('.notice.bad').waitFor()
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('button', { name: 'edit name: "a spade of bo"' }).waitFor()
    assert.deepEqual(other.complaints, [])
  } finally {
    await other.close()
  }
})

visit('what others make of a value that is being edited is told, and may be written over', garden('told', '&path=/tools/0'), async (page) => {
  await page.locator('.live', { hasText: 'live' }).waitFor()
  const field = page.getByLabel('value of name', { exact: true })
  const [save, goOn] = ['Save', 'Write over that'].map((name) => page.getByRole('button', { name }))
  await page.getByRole('button', { name: /^edit name/ }).click()
  await field.fill('a spade of ana')
  const others = async (edit, told) => {
    await api.commit('told', 'bo', 'otherwise', [{ path: '/tools/0', attribute: 'name', ...edit }])
    await page.getByRole('alert').filter({ hasText: told }).waitFor()
    assert.equal(await field.inputValue(), 'a spade of ana')
  }
  await others({ op: 'put', value: 'a spade of bo' }, 'a spade of bo')
  await goOn.click()
  await goOn.waitFor({ state: 'detached' })
  await others({ op: 'unset' }, 'removed it')
  await save.click()
  await page.locator('.notice.bad').waitFor()
  await goOn.click()
  await save.click()
  await page.getByRole('button', { name: 'edit name: "a spade of ana"' }).waitFor()
  const { attributes } = await api.get('/trees/told/node?path=/tools/0')
  assert.equal(attributes.name.value, 'a spade of ana')
})

visit('nothing is removed that was not seen', garden('unseen', '&path=/tools/0'), async (page) => {
  await withoutStream(page)
  const remove = page.getByRole('button', { name: 'remove name' })
  await remove.waitFor()
  await api.commit('unseen', 'bo', 'renamed', [{ op: 'put', path: '/tools/0', attribute: 'name', value: 'a spade of bo' }])
  await remove.click()
  await page.locator('.notice.bad').waitFor()
  await page.getByRole('button', { name: 'edit name: "a spade of bo"' }).waitFor()
  await remove.click()
  await remove.waitFor({ state: 'detached' })
})

visit('the stream is opened again after the server refused it', garden('stream', '&path=/tools/0'), async (page) => {
  await withoutStream(page)
  // Without it, too, one sees what one has saved.
  await page.getByRole('button', { name: /^edit name/ }).click()
  await page.getByLabel('value of name', { exact: true }).fill('a spade of ana')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('button', { name: 'edit name: "a spade of ana"' }).waitFor()
  await page.unroute(STREAM)
  await page.locator('.live', { hasText: 'live' }).waitFor()
  await api.commit('stream', 'bo', 'renamed', [{ op: 'put', path: '/tools/0', attribute: 'name', value: 'a spade of bo' }])
  await row(page, 'a spade of bo').waitFor()
})

visit('a tab that is seen again goes on behind what it has seen', garden('seen', '&path=/tools/0'), async (page) => {
  const live = page.locator('.live', { hasText: 'live' })
  await live.waitFor()
  const { revisions: [newest] } = await api.get('/trees/seen/revisions?limit=1')
  await turn(page, true)
  const asked = page.waitForRequest(/\/revisions\?/)
  await turn(page, false)
  // A server of a cluster may not have come so far yet: that is not another history.
  assert.equal((await asked).headers()['jungle-revision'], String(newest.revision))
  await live.waitFor()
  await api.commit('seen', 'bo', 'renamed', [{ op: 'put', path: '/tools/0', attribute: 'name', value: 'a spade of bo' }])
  await row(page, 'a spade of bo').waitFor()
  // Where that is refused, something else may be granted now.
  await turn(page, true)
  await page.route(/\/(revisions|watch)\?/, refuse)
  const me = page.waitForRequest('**/api/v1/me?*')
  await turn(page, false)
  await me
})

visit('a long value that somebody else has changed is not written over', async () => {
  await plant(api, 'long')
  return '?tree=long&path=/tools/0'
}, async (page) => {
  const put = (by, value) => api.commit('long', by, 'a poem', [{ op: 'put', path: '/tools/0', attribute: 'poem', value: { type: 'text', value } }])
  const edit = page.getByRole('button', { name: /^edit poem/ })
  const field = page.getByLabel('value of poem', { exact: true })
  const load = async () => {
    await edit.click()
    await page.getByRole('button', { name: /^Load all/ }).click()
    await field.waitFor()
  }
  // The second is too long to be sent twice.
  for (const lines of ['a line of a poem\n'.repeat(6_000), 'a line of a poem\n'.repeat(40_000)]) {
    await put('ana', lines)
    await page.getByText(`${lines.length < 200_000 ? 100 : 664} KiB in all`).waitFor()
    await load()
    await field.evaluate((area) => area.setSelectionRange(0, 0))
    await page.keyboard.type('of ana: ')
    await put('bo', `${lines}of bo`)
    await page.getByRole('button', { name: 'Save' }).click()
    await page.locator('.notice.bad').getByRole('button', { name: 'dismiss' }).click()
    await page.getByRole('button', { name: 'Cancel' }).click()
    await load()
    await field.evaluate((area) => area.setSelectionRange(0, 0))
    await page.keyboard.type('of ana: ')
    await api.commit('long', 'bo', 'elsewhere', [{ op: 'put', path: '/', attribute: 'n', value: lines.length }])
    await page.getByRole('button', { name: 'Save' }).click()
    await field.waitFor({ state: 'detached' })
    const value = await (await fetch(`${server.url}/api/v1/trees/long/value?path=/tools/0&attribute=poem`)).text()
    assert.equal(value, `of ana: ${lines}of bo`)
  }
})

const LINES = 'a line of a poem\n'.repeat(6_000)

const putPoem = (tree, value) => (
  api.commit(tree, 'bo', 'a poem', [{ op: 'put', path: '/tools/0', attribute: 'poem', value: { type: 'text', value } }])
)

const poem = (tree) => async () => {
  await plant(api, tree)
  await putPoem(tree, LINES)
  return `?tree=${tree}&path=/tools/0`
}

visit('what others make of a long value is told, and may be written over', poem('told-long'), async (page) => {
  await page.locator('.live', { hasText: 'live' }).waitFor()
  const field = page.getByLabel('value of poem', { exact: true })
  await page.getByRole('button', { name: /^edit poem/ }).click()
  await page.getByRole('button', { name: /^Load all/ }).click()
  await field.waitFor()
  await field.evaluate((area) => area.setSelectionRange(0, 0))
  await page.keyboard.type('of ana: ')
  await putPoem('told-long', `${LINES}of bo`)
  const told = page.getByRole('alert').filter({ hasText: 'Somebody has made it "a line of a poem' })
  await told.waitFor()
  assert.ok((await told.innerText()).length < 400, 'a person does not read all of it again')
  const goOn = page.getByRole('button', { name: 'Write over that' })
  await goOn.click()
  await goOn.waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Save' }).click()
  await field.waitFor({ state: 'detached' })
  const value = await (await fetch(`${server.url}/api/v1/trees/told-long/value?path=/tools/0&attribute=poem`)).text()
  assert.equal(value, `of ana: ${LINES}`)
})

visit('of a long value nothing is removed that was not seen', poem('unseen-long'), async (page) => {
  await withoutStream(page)
  const remove = page.getByRole('button', { name: 'remove poem' })
  await remove.waitFor()
  // As long as it was, with the same beginning.
  await putPoem('unseen-long', `${LINES.slice(0, -2)}!\n`)
  const again = page.waitForResponse(/\/node\?/)
  await remove.click()
  await page.locator('.notice.bad').waitFor()
  await again
  await drawn(page)
  await remove.click()
  await remove.waitFor({ state: 'detached' })
})

visit('what was asked of one branch is not done to another that is shown by then', poem('elsewhere'), async (page) => {
  await api.ask('POST', '/trees/elsewhere/branches', { name: 'other', at: 'main' })
  const { asked, answer } = await hold(page, /\/value\?/)
  await page.getByRole('button', { name: 'remove poem' }).click()
  await asked
  await page.getByRole('link', { name: 'Branches', exact: true }).click()
  await page.getByRole('link', { name: 'other', exact: true }).click()
  await page.waitForURL(/branch=other/)
  const committed = page.waitForRequest(/\/commits\?/)
  await answer()
  assert.equal(new URL((await committed).url()).searchParams.get('branch'), 'main')
})
