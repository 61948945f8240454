/** What people do with the explorer, in a real browser against a real server: a node, its attributes, and the questions about it. */

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { query, row } from './browser.mjs'
import { api, drawn, garden, hold, server, visit } from './explorer.mjs'

visit('attributes of all types are edited', garden('types', '&path=/tools/0'), async (page) => {
  const add = async (name, value) => {
    await page.getByLabel('name of a new attribute').fill(name)
    await page.getByLabel('value of a new attribute').fill(value)
    await page.getByLabel('value of a new attribute').press('Enter')
    await page.locator('.attributes dt', { hasText: name }).waitFor()
  }
  await add('big', '9223372036854775807')
  await add('half', '0.5')
  await add('sharp', 'true')
  await add('nothing', 'null')
  await add('evil', '<img src=x onerror="document.title=1"><script>1</script>')
  const edit = async (name, kind, value) => {
    await page.getByRole('button', { name: new RegExp(`^edit ${name}`) }).click()
    if (kind) await page.getByLabel(`type of ${name}`).selectOption(kind)
    await page.getByLabel(`value of ${name}`, { exact: true }).fill(value)
    await page.getByLabel(`value of ${name}`, { exact: true }).press('Enter')
  }
  await edit('big', undefined, '9223372036854775808')
  await page.getByRole('alert').filter({ hasText: '9223372036854775807' }).waitFor()
  await page.getByLabel('value of big', { exact: true }).fill('-9223372036854775808')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('button', { name: 'edit big: -9223372036854775808' }).waitFor()
  await edit('half', 'bytes', '00 FF')
  await page.getByRole('button', { name: 'edit half: 0x00ff' }).waitFor()
  await page.getByRole('button', { name: 'remove sharp' }).click()
  await page.locator('.attributes dt', { hasText: 'sharp' }).waitFor({ state: 'detached' })
  const { attributes } = await api.get('/trees/types/node?path=/tools/0')
  assert.deepEqual(attributes.big, { type: 'int', value: '-9223372036854775808' })
  assert.deepEqual(attributes.half, { type: 'bytes', value: 'AP8=' })
  assert.deepEqual(attributes.nothing, { type: 'null', value: null })
  assert.equal(attributes.sharp, undefined)
  assert.equal(await page.locator('img[src=x]').count(), 0)
  const { revisions } = await api.get('/trees/types/revisions?limit=1')
  assert.equal(revisions[0].author, 'ana')
})

visit('Enter saves a value where it is written, and nowhere else', garden('entered', '&path=/tools/0'), async (page) => {
  const edit = page.getByRole('button', { name: /^edit name/ })
  const field = page.getByLabel('value of name', { exact: true })
  let commits = 0
  page.on('request', (request) => { if (/\/commits\?/.test(request.url())) commits += 1 })
  await edit.click()
  await field.fill('not to be kept')
  await page.getByRole('button', { name: 'Cancel' }).press('Enter')
  await edit.click()
  assert.notEqual(await field.inputValue(), 'not to be kept')
  await field.fill('a spade')
  // As it takes one of the words that it offers for what was typed.
  await field.dispatchEvent('keydown', { key: 'Enter', isComposing: true })
  await drawn(page)
  await field.press('Enter')
  await page.getByRole('button', { name: 'edit name: "a spade"' }).waitFor()
  assert.equal(commits, 1)
})

visit('who chooses a type goes on choosing', garden('typing', '&path=/tools/0'), async (page) => {
  await page.getByRole('button', { name: /^edit name/ }).click()
  await page.locator('[aria-label="value of name"]:focus').waitFor()
  const type = page.getByLabel('type of name')
  await type.focus()
  await type.selectOption('int')
  await page.locator('input[aria-label="value of name"]').waitFor()
  assert.ok(await type.evaluate((it) => it === document.activeElement))
})

visit('the keyboard goes on where it was', garden('keyboard', '&path=/tools/0'), async (page) => {
  const isFocused = (begin) => page.waitForFunction((begin) => {
    const { activeElement } = document
    return (activeElement.ariaLabel ?? activeElement.textContent).startsWith(begin)
  }, begin)
  const field = page.getByLabel('value of name', { exact: true })
  await page.getByRole('button', { name: /^edit name/ }).press('Enter')
  await field.press('Escape')
  await isFocused('edit name')
  await page.keyboard.press('Enter')
  await field.fill('a spade')
  await field.press('Enter')
  await isFocused('edit name: "a spade"')
  await page.getByRole('button', { name: 'remove name' }).press('Enter')
  await isFocused('edit borrowed')
  // A dialog, by its buttons, gives the focus back to what opened it.
  const dialog = page.getByRole('dialog')
  await page.locator('.sheet').getByRole('button', { name: 'Move', exact: true }).press('Enter')
  await dialog.getByRole('button', { name: 'Cancel' }).press('Enter')
  await dialog.waitFor({ state: 'detached' })
  await isFocused('Move')
  // And another panel is read from its beginning.
  await page.goto(`${server.url}/explorer/?tree=keyboard&view=search&find=exists%20sunny`)
  await page.getByRole('link', { name: '/beds/herbs' }).press('Enter')
  await isFocused('herbs')
})

visit('nodes are added, moved and deleted', garden('work', '&path=/tools'), async (page) => {
  // Keys act on the node beside the tree, which comes after its row.
  await page.getByRole('heading', { name: 'tools' }).waitFor()
  await page.keyboard.press('a')
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Where').selectOption('named')
  await dialog.getByLabel('Name', { exact: true }).fill('a/b "c"')
  await dialog.getByLabel('Value').fill('new here')
  await dialog.getByRole('button', { name: 'Add' }).click()
  await row(page, 'new here').waitFor()
  assert.equal(query(page).get('path'), '/tools/"a/b \\"c\\""')
  await page.getByRole('button', { name: 'Move', exact: true }).click()
  await dialog.getByLabel('To the path').fill('/beds/shed')
  await dialog.getByRole('button', { name: 'Move' }).click()
  await page.getByRole('heading', { name: 'shed' }).waitFor()
  await row(page, 'shed').waitFor()
  await page.locator('.sheet').getByRole('button', { name: 'Delete', exact: true }).click()
  await dialog.getByRole('button', { name: 'Delete' }).click()
  await row(page, 'shed').waitFor({ state: 'detached' })
  assert.equal(query(page).get('path'), '/beds')
})

visit('no node is added without the value that was written for it', garden('valued', '&path=/tools'), async (page) => {
  await page.getByRole('button', { name: 'Add a child' }).click()
  const dialog = page.getByRole('dialog')
  const attribute = dialog.getByLabel('Attribute')
  await attribute.fill('')
  await dialog.getByLabel('Value').fill('a hoe')
  await dialog.getByRole('button', { name: 'Add' }).click()
  await dialog.locator('input:invalid:focus').waitFor()
  assert.equal((await api.get('/trees/valued/node?path=/tools')).child_count, 4)
  await attribute.fill('name')
  await dialog.getByRole('button', { name: 'Add' }).click()
  await row(page, 'a hoe').waitFor()
})

visit('a question about a node is put of that one alone', garden('asked', '&path=/tools/0'), async (page) => {
  const dialog = page.getByRole('dialog')
  const isShown = (name) => page.getByRole('heading', { name }).waitFor()
  await isShown('spade')
  await page.getByRole('navigation', { name: 'path' }).getByRole('link', { name: 'tools' }).click()
  await isShown('tools')
  await page.keyboard.press('Delete')
  await dialog.getByText('Delete /tools?').waitFor()
  await page.goBack()
  await dialog.waitFor({ state: 'detached' })
  await isShown('spade')
  await page.keyboard.press('Delete')
  await dialog.getByText('Delete /tools/0?').waitFor()
  await api.commit('asked', 'bo', 'the spade goes', [{ op: 'remove', path: '/tools/0' }])
  await page.getByText('Not there any more').waitFor()
  await dialog.getByRole('button', { name: 'Delete', exact: true }).click()
  await dialog.getByRole('alert').waitFor()
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  await row(page, 'rake').click()
  await isShown('rake')
  assert.equal(await dialog.count(), 0)
})

visit('who has gone on elsewhere stays there when a node is added', garden('gone-elsewhere', '&path=/tools/0'), async (page) => {
  const dialog = page.getByRole('dialog')
  const isShown = (name) => page.getByRole('heading', { name }).waitFor()
  await isShown('spade')
  await page.getByRole('navigation', { name: 'path' }).getByRole('link', { name: 'tools' }).click()
  await isShown('tools')
  await page.getByRole('button', { name: 'Add a child' }).click()
  await dialog.getByLabel('Value').fill('a hoe')
  const { asked, answer } = await hold(page, /\/commits\?/)
  await dialog.getByRole('button', { name: 'Add' }).click()
  await asked
  await page.goBack()
  await isShown('spade')
  await answer()
  await row(page, 'a hoe').waitFor()
  await isShown('spade')
  assert.equal(query(page).get('path'), '/tools/0')
})

visit('a dialog says itself what went wrong, and keeps what was written', garden('wrong', '&path=/tools/0'), async (page) => {
  const dialog = page.getByRole('dialog')
  await page.getByRole('button', { name: 'Move', exact: true }).click()
  const to = dialog.getByLabel('To the path')
  await to.fill('/nowhere/0')
  await dialog.getByRole('button', { name: 'Move' }).click()
  await dialog.getByRole('alert').waitFor()
  assert.equal(await to.inputValue(), '/nowhere/0')
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  await page.locator('.notice.bad').waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Move', exact: true }).click()
  assert.equal(await dialog.getByRole('alert').count(), 0, 'that was another one')
})

visit('what a dialog asks for is done once, however often one says so', garden('twice', '&path=/tools'), async (page) => {
  const dialog = page.getByRole('dialog')
  await page.getByRole('button', { name: 'Add a child' }).click()
  const value = dialog.getByLabel('Value')
  await value.fill('a hoe')
  const commits = []
  page.on('request', (request) => { if (request.url().includes('/commits?')) commits.push(request) })
  const { asked, answer } = await hold(page, /\/commits\?/)
  await value.press('Enter')
  await asked
  await value.press('Enter')
  await answer()
  await dialog.waitFor({ state: 'detached' })
  await row(page, 'a hoe').waitFor()
  assert.equal(commits.length, 1)
})

visit('a program is copied, or selected where there is no clipboard', garden('copy', '&path=/tools'), async (page) => {
  await page.evaluate(() => Object.defineProperty(navigator, 'clipboard', {
    value: { writeText: async (text) => { window.copied = text } }, configurable: true,
  }))
  const dialog = page.getByRole('dialog')
  const runs = { curl: ['sh', '-c'], Python: ['python3', '-c'], TypeScript: [process.execPath, '--input-type=module', '-e'] }
  for (const [language, [command, ...args]] of Object.entries(runs)) {
    await page.getByRole('button', { name: 'Copy as …' }).click()
    await dialog.getByLabel('For').selectOption(language)
    await dialog.getByRole('button', { name: 'Copy', exact: true }).click()
    await dialog.waitFor({ state: 'detached' })
    const program = await page.evaluate(() => window.copied)
    assert.ok(program.includes(`${server.url}/api/v1/trees/copy/node?path=%2Ftools`), program)
    const ran = spawnSync(command, [...args, program], { encoding: 'utf8' })
    if (ran.error === undefined) assert.match(ran.stdout, /child_count/, `${program}\n${ran.stderr}`)
  }
  await page.evaluate(() => Object.defineProperty(navigator, 'clipboard', { value: undefined }))
  await page.getByRole('button', { name: 'Copy as …' }).click()
  await dialog.getByRole('button', { name: 'Copy', exact: true }).click()
  await page.waitForFunction(() => document.activeElement?.ariaLabel === 'program')
  const selected = await page.evaluate(() => {
    const { value, selectionStart, selectionEnd } = document.activeElement
    return value.slice(selectionStart, selectionEnd)
  })
  assert.equal(selected, `curl '${server.url}/api/v1/trees/copy/node?path=%2Ftools'`)
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
})

/** What is downloaded in a form, of those that are offered, and the name of its file. */
async function saved(page, form) {
  const asked = page.waitForEvent('download')
  await page.getByRole('link', { name: form, exact: true }).click()
  const download = await asked
  return [download.suggestedFilename(), readFileSync(await download.path(), 'utf8')]
}

visit('a node is downloaded in either layout, with all below it', garden('saved', '&path=/beds'), async (page) => {
  await page.getByText('Download as …').click()
  const [[name, pretty], [, compact]] = [await saved(page, 'JSON to read'), await saved(page, 'compact JSON')]
  assert.equal(name, 'saved.json')
  assert.ok(pretty.trim().split('\n').length > 10 && compact.trim().split('\n').length === 1, `${pretty}\n${compact}`)
  assert.deepEqual(JSON.parse(pretty), JSON.parse(compact))
  assert.match(compact, /Chard/)
})

visit('a node is downloaded in the forms that it fits', async () => {
  await api.create('forms')
  await api.ask('PUT', '/trees/forms/document', { owner: 'ana', rows: [{ plant: 'Leek', bed: 2 }, { plant: 'Bean', bed: 3 }] })
  return '?tree=forms'
}, async (page) => {
  await page.getByText('Download as …').click()
  const [yaml, said] = await saved(page, 'YAML')
  assert.equal(yaml, 'forms.yaml')
  assert.match(said, /owner: *"?ana/)
  const [ndjson, lines] = await saved(page, 'NDJSON, all revisions')
  assert.equal(ndjson, 'forms.ndjson')
  assert.ok(lines.trim().split('\n').map((line) => JSON.parse(line)).length >= 2, lines)
  // Other members stand beside the table.
  let isSaved = false
  page.once('download', () => { isSaved = true })
  await page.getByRole('link', { name: 'CSV', exact: true }).click()
  await page.locator('.notice.bad').getByRole('button', { name: 'dismiss' }).click()
  assert.ok(!isSaved)
  await row(page, 'rows').click()
  await page.getByRole('heading', { name: 'rows' }).waitFor()
  await page.getByText('Download as …').click()
  const [csv, table] = await saved(page, 'CSV')
  assert.equal(csv, 'forms.csv')
  assert.match(table, /Leek[^]*Bean/)
  assert.equal(await page.getByRole('link', { name: 'NDJSON' }).count(), 0)
})

visit('attributes behind the first page are shown, and stay while others commit', async () => {
  await api.create('attributes')
  const put = (attribute, value) => ({ op: 'put', path: '/', attribute, value: { type: 'text', value } })
  // Some 64 KiB are told of each, and 1 MiB of all.
  const long = Array.from({ length: 20 }, (_, at) => put(`long-${at + 10}`, 'x'.repeat(70_000)))
  await api.commit('attributes', 'ana', 'very much', [...long, put('short', 'the last')])
  return '?tree=attributes'
}, async (page) => {
  const names = page.locator('.attributes dt')
  const told = page.getByText('too much to be shown at once')
  await told.waitFor()
  const first = await names.count()
  assert.ok(first > 1 && first < 21, `${first}`)
  assert.match(await told.innerText(), new RegExp(`and ${21 - first} more`))
  await page.getByRole('button', { name: 'More', exact: true }).click()
  await told.waitFor({ state: 'detached' })
  assert.equal(await names.count(), 21)
  await page.getByRole('button', { name: 'edit short: "the last"' }).click()
  const field = page.getByLabel('value of short', { exact: true })
  await field.fill('the last of all')
  const again = page.waitForResponse(/\/node\?.*attributes_after=/)
  await api.commit('attributes', 'bo', 'elsewhere', [{ op: 'insert', path: '/there' }])
  await again
  await drawn(page)
  assert.equal(await field.inputValue(), 'the last of all')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('button', { name: 'edit short: "the last of all"' }).waitFor()
  // Another node begins with its first page, and so does this one when somebody comes back.
  await row(page, 'there').click()
  await page.getByRole('heading', { name: 'there' }).waitFor()
  await page.getByRole('tree').press('Home')
  await told.waitFor()
})
