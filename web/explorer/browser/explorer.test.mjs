/** What people do with the explorer, in a real browser against a real server. */

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync } from 'node:fs'
import { after, before, test } from 'node:test'
import { Api, chosen, launch, open, query, refuse, row, serve, turn } from './browser.mjs'
import { plant, sow } from './garden.mjs'

let server
let browser
let api

before(async () => {
  server = await serve()
  browser = await launch()
  api = new Api(server.url)
})

after(async () => {
  await browser?.close()
  await server?.stop()
})

/** One test: a page of `who`, at an address of the explorer. It is run with the test, to tell of it. */
function visit(name, query, run, options = {}) {
  test(name, { timeout: 180_000 }, async (context) => {
    const at = typeof query === 'function' ? await query() : query
    const { who = 'ana', ...seen } = options
    const visitor = await open(browser, `${server.url}/explorer/${at}`, who, seen)
    visitor.page.setDefaultTimeout(45_000)
    try {
      await run(visitor.page, context)
      assert.deepEqual(visitor.complaints, [])
    } finally {
      await visitor.close()
    }
  })
}

const garden = (name, query = '') => async () => {
  await plant(api, name)
  return `?tree=${name}${query}`
}

/** Until what has come is on the screen. */
const drawn = (page) => page.evaluate(() => (
  new Promise((resolve) => { requestAnimationFrame(() => requestAnimationFrame(resolve)) })
))

/** Keeps back the answer to the first request like that, once it was `asked`, until `answer` lets it come. */
async function hold(page, isLike) {
  let take
  const asked = new Promise((resolve) => { take = resolve })
  await page.route(isLike, (route) => take(route), { times: 1 })
  const answer = async () => {
    const route = await asked
    const come = page.waitForEvent('requestfinished', (request) => request === route.request())
    await route.continue()
    await come
    await drawn(page)
  }
  return { asked, answer }
}

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
  assert.notEqual(await tree.evaluate((element) => getComputedStyle(element).outlineStyle), 'none')
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

visit('a dialog says itself what went wrong, and keeps what was written', garden('wrong', '&path=/tools/0'), async (page) => {
  const dialog = page.getByRole('dialog')
  await page.getByRole('button', { name: 'Move', exact: true }).click()
  const to = dialog.getByLabel('To the path')
  await to.fill('/nowhere/0')
  await dialog.getByRole('button', { name: 'Move' }).click()
  await dialog.getByRole('alert').waitFor()
  assert.equal(await to.inputValue(), '/nowhere/0')
  await page.locator('.notice.bad').waitFor({ state: 'detached' })
  assert.equal(await dialog.getByRole('alert').count(), 1, 'it stays when its notice has gone')
  await dialog.getByRole('button', { name: 'Cancel' }).click()
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
  await page.locator('.notice.bad').waitFor()
  assert.ok(!isSaved)
  await row(page, 'rows').click()
  await page.getByRole('heading', { name: 'rows' }).waitFor()
  await page.getByText('Download as …').click()
  const [csv, table] = await saved(page, 'CSV')
  assert.equal(csv, 'forms.csv')
  assert.match(table, /Leek[^]*Bean/)
  assert.equal(await page.getByRole('link', { name: 'NDJSON' }).count(), 0)
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

visit('nothing is removed that was not seen', garden('unseen', '&path=/tools/0'), async (page) => {
  const stream = '**/watch?*'
  await page.route(stream, refuse)
  const refused = page.waitForResponse(stream)
  await page.reload()
  await refused
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
  const stream = '**/watch?*'
  await page.route(stream, refuse)
  const refused = page.waitForResponse(stream)
  await page.reload()
  await refused
  // Without it, too, one sees what one has saved.
  await page.getByRole('button', { name: /^edit name/ }).click()
  await page.getByLabel('value of name', { exact: true }).fill('a spade of ana')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('button', { name: 'edit name: "a spade of ana"' }).waitFor()
  await page.unroute(stream)
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
    await page.locator('.notice.bad').first().waitFor()
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
  const stream = '**/watch?*'
  await page.route(stream, refuse)
  const refused = page.waitForResponse(stream)
  await page.reload()
  await refused
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
