/** What people do with the explorer, in a real browser against a real server: the past, and what changed. */

import assert from 'node:assert/strict'
import { query, row } from './browser.mjs'
import { api, garden, hold, server, visit } from './explorer.mjs'
import { plant } from './garden.mjs'

visit('the slider shows the past, by hand and by key', garden('past'), async (page) => {
  const { revisions } = await api.get('/trees/past/revisions')
  const slider = page.getByRole('slider', { name: 'revision', exact: true })
  await row(page, 'tools').waitFor()
  await slider.focus()
  await slider.press('Home')
  await row(page, 'tools').waitFor({ state: 'detached' })
  assert.equal(query(page).get('at'), String(revisions.at(-1).revision))
  assert.equal(await page.getByRole('button', { name: 'Add a child' }).count(), 0, 'the past is only read')
  await slider.press('ArrowRight')
  await row(page, 'tools').waitFor()
  assert.match(await slider.getAttribute('aria-valuetext'), /ana.*the garden gets its name/)
  assert.equal(await page.locator('.marks line').count(), revisions.length)
  await page.getByRole('tree').press(']')
  await page.locator('.told', { hasText: 'herbs are planted' }).waitFor()
  await page.getByRole('link', { name: 'to the newest' }).click()
  await page.locator('.told', { hasText: 'the pear is gone' }).waitFor()
  assert.equal(query(page).get('at'), null)
})

visit('a revision that is older than the slider goes is told as it is', garden('far'), async (page) => {
  for (let n = 0; n < 30; n += 1) await api.commit('far', 'bo', `number ${n}`, [{ op: 'put', path: '/', attribute: 'n', value: n }])
  const [old, oldest] = (await api.get('/trees/far/revisions')).revisions.slice(-2)
  // As if each of these were a thousand.
  await page.route('**/revisions?*', (route) => route.continue({ url: route.request().url().replace('limit=1000', 'limit=1') }))
  await page.goto(`${server.url}/explorer/?tree=far&view=changes&at=${old.revision}`)
  await page.locator('.told', { hasText: 'the garden gets its name' }).waitFor()
  const slider = page.getByRole('slider', { name: 'revision', exact: true })
  assert.match(await slider.getAttribute('aria-valuetext'), new RegExp(`^revision ${old.revision}, ana,`))
  await page.locator('.compare', { hasText: 'the garden gets its name' }).waitFor()
  await page.locator('.change.added', { hasText: '/beds' }).waitFor()
  await page.getByRole('button', { name: 'older revision' }).click()
  await page.locator('.told strong', { hasText: new RegExp(`^${oldest.revision}$`) }).waitFor()
  // Which one comes behind it is not known: the slider begins with another.
  assert.ok(await page.getByRole('button', { name: 'newer revision' }).isDisabled())
  await page.keyboard.press(']')
  assert.equal(query(page).get('at'), String(oldest.revision))
  await page.goto(`${server.url}/explorer/?tree=far&view=changes&from=${old.revision}`)
  await page.locator('.compare', { hasText: 'the garden gets its name' }).waitFor()
  await page.locator('.told', { hasText: 'number 29' }).waitFor()
  // One that is not kept any more is no other one.
  await api.ask('PUT', '/trees/far/keep', { keep: '25' })
  await page.goto(`${server.url}/explorer/?tree=far&view=changes&from=${old.revision}`)
  await page.getByText(`Revision ${old.revision} is not in the history`).waitFor()
  assert.equal(await page.getByText('Nothing differs').count(), 0)
})

visit('what changed is shown beside the tree, and taken back', garden('diff', '&view=changes'), async (page) => {
  await page.locator('.change.removed', { hasText: '/beds/trees/1' }).waitFor()
  await page.locator('.change.moved', { hasText: 'from /beds/trees/3' }).waitFor()
  assert.match(await row(page, 'beds').getAttribute('class'), /mark-below/)
  const { revisions } = await api.get('/trees/diff/revisions')
  await page.getByRole('slider', { name: 'compare with revision' }).press('ArrowLeft')
  await page.locator('.change ins', { hasText: 'leave some' }).waitFor()
  assert.equal(query(page).get('from'), String(revisions[2].revision))
  await page.getByRole('slider', { name: 'compare with revision' }).press('ArrowRight')
  await page.getByRole('button', { name: /^Take back revision/ }).click()
  await page.locator('.told', { hasText: 'took back' }).waitFor()
  const { child_count } = await api.get('/trees/diff/node?path=/beds/trees')
  assert.equal(child_count, 4)
})

visit('what was and what is stand side by side where there is room', async () => {
  await plant(api, 'sides')
  const { revisions } = await api.get('/trees/sides/revisions')
  return `?tree=sides&view=changes&from=${revisions[2].revision}`
}, async (page) => {
  const [older, newer] = ['Water them in the morning', 'Water them early in the morning']
  const note = page.locator('.change dl > div', { has: page.locator('dt', { hasText: /^note$/ }) })
  const sides = note.locator('.sides > span')
  await sides.nth(1).filter({ hasText: newer }).waitFor()
  const said = async (side, what) => (await sides.nth(side).locator(what).allTextContents()).map((text) => text.trim())
  assert.deepEqual([await said(0, 'del'), await said(0, 'ins')], [['take the', 'off'], []])
  assert.deepEqual([await said(1, 'del'), await said(1, 'ins')], [[], ['early', 'leave some', 'on']])
  assert.ok((await sides.nth(0).textContent()).startsWith(older))
  const [left, right] = [await sides.nth(0).boundingBox(), await sides.nth(1).boundingBox()]
  assert.ok(left.x + left.width <= right.x && left.y === right.y, JSON.stringify([left, right]))
  const heads = page.locator('.heads span')
  const under = [await heads.nth(0).boundingBox(), await heads.nth(1).boundingBox()].map(({ x }) => Math.round(x))
  assert.deepEqual(under, [Math.round(left.x), Math.round(right.x)], 'each column has its head')

  await page.setViewportSize({ width: 800, height: 800 })
  await page.locator('.sides').first().waitFor({ state: 'detached' })
  await note.locator('.words ins', { hasText: 'leave some' }).waitFor()
  assert.equal(await note.locator('.words del', { hasText: 'take the' }).count(), 1)
})

visit('nothing is taken back before it is shown', garden('undo', '&view=changes'), async (page) => {
  const undo = page.getByRole('button', { name: /^Take back revision/ })
  await undo.waitFor()
  const diff = await hold(page, (url) => url.pathname.endsWith('/diff'))
  await api.commit('undo', 'bo', 'the rake goes', [{ op: 'remove', path: '/tools/1' }])
  await diff.asked
  assert.equal(await undo.count(), 0)
  await diff.answer()
  await page.locator('.change.removed', { hasText: '/tools/1' }).waitFor()
  await undo.waitFor()
})

visit('who tags a revision may go elsewhere meanwhile', garden('tagging', '&view=history'), async (page) => {
  await page.locator('.live', { hasText: 'live' }).waitFor()
  const { revisions: [{ revision }] } = await api.get('/trees/tagging/revisions?limit=1')
  await page.getByRole('button', { name: `tag revision ${revision}`, exact: true }).click()
  const field = page.getByLabel(`tag for revision ${revision}`)
  await field.fill('harvest')
  const search = page.getByRole('searchbox')
  await search.focus()
  await api.commit('tagging', 'bo', 'the rake goes', [{ op: 'remove', path: '/tools/1' }])
  await page.locator('.history', { hasText: 'the rake goes' }).waitFor()
  assert.ok(await search.evaluate((it) => it === document.activeElement))
  await field.press('Enter')
  await page.locator('.history .tag', { hasText: 'harvest' }).waitFor()
})

const name = (tool, value) => ({ op: 'put', path: `/tools/${tool}`, attribute: 'name', value })

/** A tree, shown at a revision of which others have changed a part since. */
const changedSince = (tree) => async () => {
  await plant(api, tree)
  const lent = { op: 'put', path: '/tools/3', attribute: 'borrowed', value: true }
  const { revision } = await api.commit(tree, 'ana', 'names', [name(0, 'a spade of ana'), name(1, 'a rake of ana'), lent])
  await api.commit(tree, 'bo', 'other names', [name(0, 'a spade of bo'), name(1, 'a rake of bo')])
  return `?tree=${tree}&view=changes&at=${revision}`
}

const tool = async (tree, at) => (await api.get(`/trees/${tree}/node?path=/tools/${at}`)).attributes

visit('what was changed since is settled where a revision is taken back', changedSince('since'), async (page) => {
  const undo = page.getByRole('button', { name: /^Take back revision/ })
  const conflict = (path) => page.getByRole('group').filter({ hasText: path })
  await undo.press('Enter')
  await page.getByRole('heading', { name: '2 conflicts' }).waitFor()
  await page.locator('.sheet section:focus').waitFor()
  await page.getByRole('status').filter({ hasText: '2 conflicts are not settled' }).waitFor()
  assert.ok(await undo.isDisabled())
  assert.equal((await tool('since', 3)).borrowed.value, true, 'nothing is taken back yet')
  await page.getByRole('button', { name: 'All as now' }).click()
  assert.ok(await undo.isEnabled())
  await conflict('/tools/0').getByLabel('before').check()
  await conflict('/tools/1').getByLabel('another').check()
  await conflict('/tools/1').getByRole('textbox').fill('a rake of both')
  assert.ok(await undo.isDisabled())
  await conflict('/tools/1').getByRole('button', { name: 'Take this' }).click()
  await undo.click()
  await page.locator('.told', { hasText: 'took back' }).waitFor()
  assert.equal(query(page).get('at'), null)
  const names = [(await tool('since', 0)).name.value, (await tool('since', 1)).name.value]
  assert.deepEqual(names, ['spade', 'a rake of both'])
  assert.equal((await tool('since', 3)).borrowed.value, false)
})

visit('what is chosen where a revision is taken back stays while one looks elsewhere', changedSince('since-kept'), async (page) => {
  const undo = page.getByRole('button', { name: /^Take back revision/ })
  await undo.click()
  const conflict = page.getByRole('group').filter({ hasText: '/tools/0' })
  const look = async () => {
    await page.getByRole('link', { name: 'History', exact: true }).click()
    await page.locator('.unsaved').getByRole('link', { name: /^taking back revision/ }).click()
    await undo.click()
    await conflict.waitFor()
  }
  await conflict.getByLabel('before').check()
  await look()
  await page.getByText('1 conflict is not settled').waitFor()
  await page.getByRole('button', { name: 'All as now' }).click()
  await look()
  assert.ok(await conflict.getByLabel('now').isChecked())
  assert.ok(await undo.isEnabled())
})

visit('nothing is taken back over what nobody has seen', changedSince('since-then'), async (page) => {
  const undo = page.getByRole('button', { name: /^Take back revision/ })
  await undo.click()
  await page.getByRole('button', { name: /^All as before/ }).click()
  await api.commit('since-then', 'bo', 'a third name', [name(0, 'another spade of bo')])
  await undo.click()
  await page.getByRole('alert').filter({ hasText: 'main has changed since' }).waitFor()
  assert.equal((await tool('since-then', 0)).name.value, 'another spade of bo')
  await page.getByRole('button', { name: 'Look again' }).click()
  await page.getByRole('group').filter({ hasText: 'another spade of bo' }).getByLabel('now').check()
  await page.getByText('1 conflict is not settled').waitFor()
  await page.getByRole('group').filter({ hasText: '/tools/1' }).getByLabel('before').check()
  await undo.click()
  await page.locator('.told', { hasText: 'took back' }).waitFor()
  const names = [(await tool('since-then', 0)).name.value, (await tool('since-then', 1)).name.value]
  assert.deepEqual(names, ['another spade of bo', 'rake'])
})
