/** What people do with the explorer, in a real browser against a real server: branches, tags and merges. */

import assert from 'node:assert/strict'
import { api, garden, hold, server, visit } from './explorer.mjs'
import { plant, sow } from './garden.mjs'

visit('a branch is made, changed and merged, its conflicts settled', garden('merge', '&view=branches'), async (page) => {
  await page.getByLabel('name of a new branch').fill('mine')
  await page.getByRole('button', { name: /^Branch off/ }).click()
  await page.getByRole('link', { name: 'branch mine' }).waitFor()
  await page.goto(`${server.url}/explorer/?tree=merge&view=merge&merge=winter`)
  const conflict = page.getByRole('group').filter({ hasText: '/beds/vegetables/0' })
  await conflict.waitFor()
  const merge = page.getByRole('button', { name: 'Merge winter into main' })
  assert.ok(await merge.isDisabled())
  await conflict.getByLabel('another').check()
  await conflict.getByRole('textbox').fill('Tomatoes and garlic')
  await conflict.getByRole('button', { name: 'Take this' }).click()
  await merge.click()
  await page.locator('.told', { hasText: 'merged winter' }).waitFor()
  const { attributes } = await api.get('/trees/merge/node?path=/beds/vegetables/0')
  assert.equal(attributes.name.value, 'Tomatoes and garlic')
  assert.equal(attributes.planted.value, 2026)
})

visit('who is read to hears which revision it is, and what is left to settle', garden('heard', '&view=history'), async (page) => {
  const { revisions: [, , { revision }] } = await api.get('/trees/heard/revisions')
  await page.getByRole('button', { name: `tag revision ${revision}`, exact: true }).waitFor()
  await page.getByRole('link', { name: `changes of revision ${revision}`, exact: true }).click()
  await page.locator('.told strong', { hasText: new RegExp(`^${revision}$`) }).waitFor()
  await page.goto(`${server.url}/explorer/?tree=heard&view=merge&merge=winter`)
  await page.getByRole('status').filter({ hasText: '1 conflict is not settled' }).waitFor()
  await page.getByRole('group').filter({ hasText: '/beds/vegetables/0' }).getByLabel('main').check()
  await page.getByRole('status').filter({ hasText: 'not settled' }).waitFor({ state: 'detached' })
  assert.ok(await page.getByRole('button', { name: 'Merge winter into main' }).isEnabled())
})

visit('a value for a conflict that is being written is not passed over', garden('written', '&view=merge&merge=winter'), async (page) => {
  const conflict = page.getByRole('group').filter({ hasText: '/beds/vegetables/0' })
  const merge = page.getByRole('button', { name: 'Merge winter into main' })
  const field = conflict.getByRole('textbox')
  const take = conflict.getByRole('button', { name: 'Take this' })
  await conflict.getByLabel('main').check()
  assert.ok(await merge.isEnabled())
  await conflict.getByLabel('another').check()
  await field.fill('Garlic')
  await page.getByText('1 conflict is not settled').waitFor()
  assert.ok(await merge.isDisabled())
  await take.click()
  await field.fill('Garlic and chives')
  await page.getByText('1 conflict is not settled').waitFor()
  await take.click()
  await merge.click()
  await page.locator('.told', { hasText: 'merged winter' }).waitFor()
  const { attributes } = await api.get('/trees/written/node?path=/beds/vegetables/0')
  assert.equal(attributes.name.value, 'Garlic and chives')
})

visit('what is chosen and written for conflicts stays where one looks at their nodes', garden('looked', '&view=merge&merge=winter'), async (page) => {
  const conflict = page.getByRole('group').filter({ hasText: '/beds/vegetables/0' })
  const merge = page.getByRole('button', { name: 'Merge winter into main' })
  const look = async () => {
    await conflict.getByRole('link').click()
    await page.getByRole('heading', { name: 'Tomato, the yellow one' }).waitFor()
    await page.goBack()
    await conflict.waitFor()
  }
  await conflict.getByLabel('another').check()
  await conflict.getByRole('textbox').fill('Garlic and chives')
  await look()
  assert.equal(await conflict.getByRole('textbox').inputValue(), 'Garlic and chives')
  assert.ok(await merge.isDisabled())
  await conflict.getByRole('button', { name: 'Take this' }).click()
  await look()
  await merge.click()
  await page.locator('.told', { hasText: 'merged winter' }).waitFor()
  const { attributes } = await api.get('/trees/looked/node?path=/beds/vegetables/0')
  assert.equal(attributes.name.value, 'Garlic and chives')
})

visit('what is chosen for conflicts stays until it is merged or discarded, and who leaves the page is asked', garden('chosen', '&view=merge&merge=winter'), async (page) => {
  const conflict = page.getByRole('group').filter({ hasText: '/beds/vegetables/0' })
  const unsaved = page.locator('.unsaved')
  const asked = []
  page.on('dialog', async (dialog) => {
    asked.push(dialog.type())
    await dialog.dismiss()
  })
  await conflict.waitFor()
  await page.reload()
  await conflict.getByLabel('winter').check()
  assert.deepEqual(asked, [])
  assert.equal(await unsaved.innerText(), '')
  // Another tree may be looked at meanwhile.
  await page.locator('a.home').click()
  await unsaved.getByRole('link', { name: 'merging winter into main in chosen', exact: true }).click()
  await conflict.waitFor()
  assert.ok(await conflict.getByLabel('winter').isChecked())
  assert.equal(await unsaved.innerText(), '')
  const told = page.waitForEvent('dialog')
  // The page waits for the answer, and this must not wait for the page.
  await page.evaluate(() => { setTimeout(() => location.reload()) })
  await told
  await page.getByRole('link', { name: 'Node', exact: true }).click()
  await unsaved.getByRole('link', { name: 'merging winter into main', exact: true }).waitFor()
  await unsaved.getByRole('button', { name: 'Discard' }).click()
  await unsaved.getByRole('link').waitFor({ state: 'detached' })
  await page.reload()
  assert.deepEqual(asked, ['beforeunload'])
})

const namesSpade = (value) => [{ op: 'put', path: '/tools/0', attribute: 'name', value }]

visit('what is being written for a conflict goes where all is given to one side, and only there', async () => {
  await plant(api, 'given')
  await api.commit('given', 'bo', 'a name', namesSpade('a spade of bo'))
  await api.commit('given', 'dana', 'another name', namesSpade('a spade of dana'), 'winter')
  return '?tree=given&view=merge&merge=winter'
}, async (page) => {
  await page.locator('.live', { hasText: 'live' }).waitFor()
  const all = page.getByRole('button', { name: 'All as in winter' })
  const conflict = page.getByRole('group').filter({ hasText: '/tools/0' })
  const field = conflict.getByRole('textbox')
  await all.click()
  await conflict.getByLabel('another').check()
  await page.getByText('1 conflict is not settled').waitFor()
  // For the second time: no other side prevails than before.
  await all.click()
  await field.waitFor({ state: 'detached' })
  assert.ok(await conflict.getByLabel('winter').isChecked())
  await conflict.getByLabel('another').check()
  await field.fill('a spade of ana')
  // Now there is a preview of something else, for which no side prevails.
  await api.commit('given', 'bo', 'a third name', namesSpade('a rake of bo'))
  await page.getByText('2 conflicts are not settled').waitFor()
  assert.equal(await field.inputValue(), 'a spade of ana')
})

visit('a branch is deleted once that was asked', garden('twigs', '&view=branches'), async (page) => {
  const remove = page.getByRole('button', { name: 'delete branch winter' })
  const dialog = page.getByRole('dialog')
  await remove.click()
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  await remove.click()
  await dialog.getByRole('button', { name: 'Delete', exact: true }).click()
  await remove.waitFor({ state: 'detached' })
  const { branches } = await api.get('/trees/twigs/branches')
  assert.deepEqual(branches.map(({ name }) => name), ['main'])
})

visit('all branches and tags are listed, on however many pages they are told', garden('pages', '&view=branches'), async (page) => {
  await api.ask('POST', '/trees/pages/tags', { name: 'a & b', at: 'main' })
  // As of a tree that has more than 1,000.
  await page.route(/\/trees\/pages\/(branches|tags)/, (route) => {
    const url = new URL(route.request().url())
    url.searchParams.set('limit', '1')
    return route.continue({ url: `${url}` })
  })
  await page.reload()
  for (const mark of ['branch winter', 'tag a & b', 'tag spring']) {
    await page.getByRole('button', { name: `delete ${mark}`, exact: true }).waitFor()
  }
})

visit('nothing is merged that came after the preview', garden('moving', '&view=merge&merge=winter'), async (page) => {
  await page.getByRole('group').first().getByLabel('winter').check()
  await api.commit('moving', 'dana', 'the rake goes', [{ op: 'remove', path: '/tools/1' }], 'winter')
  const merge = page.getByRole('button', { name: 'Merge winter into main' })
  await merge.click()
  await page.getByRole('alert').filter({ hasText: 'winter or main has changed since' }).waitFor()
  assert.equal(await page.locator('.notice').count(), 0, 'it is said once')
  assert.equal((await api.get('/trees/moving/node?path=/tools')).child_count, 4)
  await page.getByRole('button', { name: 'Preview again' }).click()
  await page.locator('.change.removed', { hasText: '/tools/1' }).waitFor()
  await merge.click()
  await page.locator('.told', { hasText: 'merged winter' }).waitFor()
  assert.equal((await api.get('/trees/moving/node?path=/tools')).child_count, 3)
  await page.getByRole('link', { name: 'Merge', exact: true }).click()
  await page.getByText('Nothing to merge: main has all that winter has.').waitFor()
})

visit('why a merge is refused is told', garden('refused', '&view=merge&merge=winter'), async (page) => {
  const merge = page.getByRole('button', { name: 'Merge winter into main' })
  await page.getByRole('group').first().getByLabel('winter').check()
  const body = JSON.stringify({ detail: 'resolve /beds: it cannot be done' })
  await page.route('**/merges', (route) => route.fulfill({ status: 409, contentType: 'application/problem+json', body }), { times: 1 })
  await merge.click()
  await page.locator('.notice.bad', { hasText: 'it cannot be done' }).waitFor()
  assert.ok(await merge.isEnabled())
})

visit('who has gone on elsewhere stays there when the merge is done', garden('gone-on', '&view=merge&merge=winter'), async (page) => {
  await page.getByRole('group').first().getByLabel('winter').check()
  const { asked, answer } = await hold(page, '**/merges')
  await page.getByRole('button', { name: 'Merge winter into main' }).click()
  await asked
  await page.getByRole('link', { name: 'History', exact: true }).click()
  await answer()
  await page.locator('.notice', { hasText: 'winter is merged' }).waitFor()
  await page.getByRole('heading', { name: 'History' }).waitFor()
})

visit('only what is shown is merged', async () => {
  await plant(api, 'shown')
  await api.ask('POST', '/trees/shown/branches', { name: 'mine', at: 'main' })
  await api.commit('shown', 'ana', 'the rake goes', [{ op: 'remove', path: '/tools/1' }], 'mine')
  return '?tree=shown&view=merge&merge=mine'
}, async (page) => {
  const mine = page.getByRole('button', { name: 'Merge mine into main' })
  await mine.waitFor()
  const winter = await hold(page, (url) => url.searchParams.get('from') === 'winter')
  await page.getByLabel('branch to merge').selectOption('winter')
  await winter.asked
  assert.equal(await page.getByRole('button', { name: /^Merge .* into main$/ }).count(), 0)
  await page.getByLabel('branch to merge').selectOption('mine')
  await mine.waitFor()
  await winter.answer()
  await mine.click()
  await page.locator('.told', { hasText: 'merged mine' }).waitFor()
  assert.equal((await api.get('/trees/shown/node?path=/tools')).child_count, 3)
})

visit('another value for a conflict begins with all of one that is cut', async () => {
  await plant(api, 'poem')
  const put = (value) => [{ op: 'put', path: '/tools/0', attribute: 'poem', value: { type: 'text', value } }]
  const lines = 'a line of a poem\n'.repeat(200)
  await api.commit('poem', 'ana', 'a poem', put(`${lines}of ana`))
  await api.commit('poem', 'dana', 'a poem', put(`${lines}of dana`), 'winter')
  return '?tree=poem&view=merge&merge=winter'
}, async (page) => {
  const conflict = (path) => page.getByRole('group').filter({ hasText: path })
  await conflict('/beds/vegetables/0').getByLabel('main').check()
  const poem = conflict('/tools/0')
  await poem.getByLabel('another').check()
  await poem.getByRole('button', { name: /^Load all/ }).click()
  const text = await poem.getByRole('textbox').inputValue()
  await poem.getByRole('textbox').fill(`${text}, and more`)
  await poem.getByRole('button', { name: 'Take this' }).click()
  await page.getByRole('button', { name: 'Merge winter into main' }).click()
  await page.locator('.told', { hasText: 'merged winter' }).waitFor()
  const { attributes } = await api.get('/trees/poem/node?path=/tools/0')
  assert.equal(attributes.poem.value, `${'a line of a poem\n'.repeat(200)}of dana, and more`)
})

visit('more conflicts than are listed are settled as one side has them', async () => {
  await sow(api, 'conflicts', 1_100)
  await api.ask('POST', '/trees/conflicts/branches', { name: 'draft', at: 'main' })
  const put = (value) => Array.from({ length: 1_100 }, (_, at) => ({ op: 'put', path: `/${at}`, attribute: 'by', value }))
  await api.commit('conflicts', 'ana', 'all', put('main'))
  await api.commit('conflicts', 'bo', 'all', put('draft'), 'draft')
  return '?tree=conflicts&view=merge&merge=draft'
}, async (page) => {
  await page.getByRole('heading', { name: '1\u202f100 conflicts' }).waitFor()
  await page.getByRole('group').first().getByLabel('main').check()
  await page.getByText('1\u202f099 conflicts are not settled').waitFor()
  await page.getByRole('button', { name: 'All as in draft' }).click()
  const kept = page.getByRole('group').nth(1)
  await kept.getByLabel('main').check()
  const path = await kept.locator('.path').innerText()
  await page.getByRole('button', { name: 'Merge draft into main' }).click()
  await page.locator('.told', { hasText: 'merged draft' }).waitFor()
  const by = async (path) => (await api.get(`/trees/conflicts/node?path=${path}`)).attributes.by.value
  assert.deepEqual([await by('/0'), await by('/1099'), await by(path)], ['draft', 'draft', 'main'])
})
