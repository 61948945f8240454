/** The explorer of servers that ask who is there, and of those that are a cluster. */

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Api, chosen, launch, logIn, open, openGuarded, query, refuse, row, serveAlone, serveCluster } from './browser.mjs'

let browser

before(async () => {
  browser = await launch()
})

after(async () => {
  await browser?.close()
})

/** One test: a page of a server that asks who is there, where these people may do something. */
function visitGuarded(name, people, place, run) {
  test(name, { timeout: 180_000 }, () => openGuarded(browser, people, place, run))
}

test('the servers of a cluster are listed, and have the same trees', { timeout: 180_000 }, async () => {
  const cluster = await serveCluster()
  try {
    await new Api(cluster.urls[0]).create('shared')
    // So that it has come to the other one, too.
    const newest = { 'Jungle-Consistency': 'linearizable' }
    await fetch(`${cluster.urls[1]}/api/v1/trees/shared`, { headers: newest })
    const visitor = await open(browser, `${cluster.urls[1]}/explorer/`, 'ana')
    const { page } = visitor
    await page.getByRole('link', { name: 'shared' }).waitFor()
    const servers = page.getByRole('region', { name: 'Servers' })
    await servers.getByRole('cell', { name: 'up to date' }).nth(1).waitFor()
    const hashes = await servers.locator('code').allTextContents()
    assert.equal(hashes[0].length, 12)
    assert.equal(hashes[0], hashes[1])
    await servers.getByRole('link', { name: 's0' }).click()
    await page.waitForURL(`${cluster.urls[0]}/explorer/`)
    await page.getByRole('link', { name: 'shared' }).waitFor()

    // As a server answers that cannot ask the log.
    const context = await browser.newContext()
    const cut = await context.newPage()
    await cut.goto(`${cluster.urls[1]}/explorer/`)
    const told = cut.getByRole('region', { name: 'Servers' })
    await told.getByRole('cell', { name: /^(appends|guest|follows)$/ }).nth(1).waitFor()
    const away = told.getByRole('status').filter({ hasText: 'The log does not answer' })
    assert.equal(await away.count(), 0)
    const problem = JSON.stringify({ type: '/docs#problem-stopped', title: 'Stopped', status: 503 })
    const refuse = (route) => route.fulfill({ status: 503, contentType: 'application/problem+json', body: problem })
    await cut.route('**/api/v1/cluster', refuse)
    await away.waitFor()
    await told.getByRole('cell', { name: 'up to date' }).nth(1).waitFor()
    await cut.unroute('**/api/v1/cluster', refuse)
    await away.waitFor({ state: 'detached' })

    // As it is told of a server that commits by itself, and is to follow a copy of the log.
    const survey = await new Api(cluster.urls[1]).get('/cluster')
    survey.log.syncs = false
    survey.servers[0].outbox = { writer: 1, pending: 3, oldest: (Date.now() - 3_600_000) * 1000, refused: 0, error: null }
    survey.servers[0].mirror = { domain: 'west', error: 'it does not answer' }
    await cut.route('**/api/v1/cluster', (route) => route.fulfill({ json: survey }))
    await told.getByText('outbox: 3 commits without a place, the oldest made 1 hour ago').waitFor()
    await told.locator('small.warning', { hasText: 'not its copy in domain west: it does not answer' }).waitFor()
    await told.getByText('Commits are promised before they are synced.').waitFor()
    await context.close()

    const shop = await serveAlone(cluster.engine, 'shop')
    try {
      await new Api(shop.url).create('goods')
      await servers.getByRole('link', { name: 'goods' }).click()
      await page.waitForURL(`${shop.url}/explorer/?tree=goods`)
      // While its server is there: a page whose server stops complains.
      assert.deepEqual(visitor.complaints, [])
      await visitor.close()
    } finally {
      await shop.stop()
    }
  } finally {
    await cluster.stop()
  }
})

visitGuarded('who is not logged in logs in, and is where they were', { ana: 'admin' }, '/explorer/', async ({ page, forget }) => {
  // The form is waited for, not its address: moving on from page to page may be cut short.
  const password = page.getByLabel('Password')
  await logIn(page, 'ana')
  await page.getByLabel('name of a new tree').fill('mine')
  await page.getByRole('button', { name: 'Create' }).click()
  await chosen(page).waitFor()
  await forget()
  await page.reload({ waitUntil: 'commit' })
  await logIn(page, 'ana')
  await chosen(page).waitFor()
  assert.equal(query(page).get('tree'), 'mine')
  // A session that ends while somebody looks is noticed with the next thing that is asked for,
  // which may be one that the page still wants by itself.
  await forget()
  const toHome = page.getByRole('link', { name: 'Jungle' }).click()
  await Promise.race([toHome.catch(() => {}), password.waitFor()])
  await password.waitFor()
})

visitGuarded('a link on a page of another site finds who is logged in', { ana: 'admin' }, '/boards', async ({ page, url, complaints }) => {
  const elsewhere = 'http://elsewhere.example/'
  const body = `<!doctype html><html lang="en"><title>a chat</title><a href="${url}/explorer/">look</a></html>`
  await page.route(elsewhere, (route) => route.fulfill({ contentType: 'text/html', body }))
  const follow = async () => {
    await page.goto(elsewhere)
    await page.getByRole('link', { name: 'look' }).click()
  }
  await page.getByLabel('Password').waitFor()
  await follow()
  await logIn(page, 'ana')
  await page.getByRole('heading', { name: 'Trees' }).waitFor()
  await follow()
  await page.getByRole('heading', { name: 'Trees' }).waitFor()
  assert.equal(page.url(), `${url}/explorer/`)
  assert.deepEqual(complaints, [])
})

visitGuarded('who may only read is offered nothing else, and logs out', { ana: 'admin', ben: 'read' }, '/explorer/', async ({ page, url, complaints }) => {
  const offered = (name) => page.getByRole('button', { name })
  await logIn(page, 'ana')
  await page.getByLabel('name of a new tree').fill('kept')
  await offered('Create').click()
  await offered('Add a child').waitFor()
  await page.getByRole('banner').getByText('ana', { exact: true }).waitFor()
  await offered('Log out').click()

  await page.getByLabel('Password').waitFor()
  await page.goto(`${url}/explorer/?tree=kept`, { waitUntil: 'commit' })
  await logIn(page, 'ben')
  await page.getByText('You may read this tree, and not change it.').waitFor()
  await page.getByRole('banner').getByText('ben', { exact: true }).waitFor()
  for (const name of ['Add a child', 'Add', 'Delete']) assert.equal(await offered(name).count(), 0, name)
  await page.keyboard.press('a')
  assert.equal(await page.getByRole('dialog').count(), 0)
  await page.keyboard.press('b')
  await page.getByRole('heading', { name: 'Tags' }).waitFor()
  assert.equal(await offered('Branch off').count(), 0)
  await page.getByRole('link', { name: 'Jungle' }).click()
  await page.getByRole('link', { name: 'kept' }).waitFor()
  await page.getByLabel('name of a new tree').waitFor({ state: 'detached' })
  assert.equal(await offered('delete kept').count(), 0)
  assert.deepEqual(complaints, [])
})

visitGuarded('a stranger reads what is public, and is offered to log in', { ana: 'admin', public: 'read' }, '/explorer/', async ({ page, url, complaints }) => {
  const offered = (name) => page.getByRole('button', { name })
  await offered('Log in').click()
  await logIn(page, 'ana')
  await page.getByLabel('name of a new tree').fill('kept')
  await offered('Create').click()
  await offered('Add a child').waitFor()
  await offered('Log out').click()

  await page.getByLabel('Password').waitFor()
  await page.goto(`${url}/explorer/?tree=kept`)
  await page.getByText('You may read this tree, and not change it.').waitFor()
  await offered('Log in').waitFor()
  assert.equal(await offered('Log out').count(), 0)
  assert.equal(await offered('Add a child').count(), 0)
  const asked = []
  page.on('request', (request) => asked.push(new URL(request.url()).pathname))
  await page.getByRole('link', { name: 'Jungle' }).click()
  await page.getByRole('link', { name: 'kept', exact: true }).waitFor()
  assert.ok(!asked.includes('/api/v1/cluster'), 'who asks for that is led to where one logs in')
  assert.deepEqual(complaints, [])
})

visitGuarded('what is being written stays when the session has ended', { ana: 'admin' }, '/explorer/', async ({ page, url, forget, complaints }) => {
  await logIn(page, 'ana')
  await page.getByLabel('name of a new tree').fill('kept')
  await page.getByRole('button', { name: 'Create' }).click()
  await page.getByLabel('name of a new attribute').fill('note')
  const value = page.getByLabel('value of a new attribute')
  await value.fill('much was written')
  await forget()
  const add = page.getByRole('button', { name: 'Add', exact: true })
  await add.click()
  await page.locator('.notice.bad', { hasText: 'log in on another tab' }).waitFor()
  assert.equal(await value.inputValue(), 'much was written')
  const other = await page.context().newPage()
  await other.goto(`${url}/login`)
  await logIn(other, 'ana')
  await other.getByRole('heading', { name: 'Boards' }).waitFor()
  await add.click()
  await page.locator('.attributes dt', { hasText: 'note' }).waitFor()
  assert.deepEqual(complaints, [])
  // Where nothing is written, one is led to where one logs in.
  await forget()
  const toHome = page.getByRole('link', { name: 'Jungle' }).click()
  await Promise.race([toHome.catch(() => {}), page.getByLabel('Password').waitFor()])
  await page.getByLabel('Password').waitFor()
})

const parts = [['kept', 'write', '/beds'], ['kept', 'read', '/sheds/tools']]
visitGuarded('who may read parts of a tree sees those as the tree', { ana: 'admin', cy: parts }, '/explorer/', async ({ page, url, complaints }) => {
  const offered = (name) => page.getByRole('button', { name })
  const ask = (path, body) => page.evaluate(async ([path, body]) => {
    const options = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) }
    return (await fetch(`/api/v1${path}`, options)).status
  }, [path, body])
  await logIn(page, 'ana')
  await page.getByLabel('name of a new tree').waitFor()
  assert.equal(await ask('/trees', { name: 'kept' }), 201)
  const paths = ['/beds', '/beds/roses', '/sheds', '/sheds/tools', '/sheds/tools/rake', '/secret']
  const edits = paths.map((path) => ({ op: 'insert', path }))
  assert.equal(await ask('/trees/kept/commits', { edits }), 200)
  await offered('Log out').click()

  await page.getByLabel('Password').waitFor()
  await page.goto(`${url}/explorer/`, { waitUntil: 'commit' })
  await logIn(page, 'cy')
  await page.getByRole('link', { name: 'kept' }).click()
  await row(page, 'roses').waitFor()
  assert.equal(query(page).get('path'), '/beds')
  await page.getByText('live', { exact: true }).waitFor()
  for (const name of ['Changes', 'History', 'Merge']) {
    assert.equal(await page.getByRole('link', { name, exact: true }).count(), 0, name)
  }
  await page.keyboard.press('h')
  await offered('Add a child').click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Where').selectOption('named')
  await dialog.getByLabel('Name', { exact: true }).fill('lilies')
  await dialog.getByRole('button', { name: 'Add' }).click()
  await row(page, 'lilies').waitFor()
  await page.getByRole('searchbox').fill('exists nothing or @name = "roses"')
  await page.getByRole('searchbox').press('Enter')
  await page.getByRole('link', { name: '/beds/roses' }).waitFor()

  const others = page.getByRole('navigation', { name: 'parts that you may read' })
  await others.getByRole('link', { name: '/sheds/tools' }).click()
  await row(page, 'rake').click()
  assert.equal(query(page).get('path'), '/sheds/tools/rake')
  assert.equal(await offered('Add a child').count(), 0, 'this part is only read')
  await page.keyboard.press('?')
  await dialog.getByText('node, graph, branches', { exact: true }).waitFor()
  for (const what of ['add a child', 'an older revision, a newer one']) assert.equal(await dialog.getByText(what).count(), 0, what)
  await page.keyboard.press('Escape')
  // Nothing is refused while it is not known what may be read.
  await page.route('**/api/v1/me?*', refuse)
  await page.reload()
  await offered('Try again').waitFor()
  await page.unroute('**/api/v1/me?*', refuse)
  await offered('Try again').click()
  await row(page, 'rake').waitFor()
  await page.getByRole('link', { name: 'kept', exact: true }).first().click()
  await page.getByRole('heading', { name: 'tools' }).waitFor()
  assert.equal(query(page).get('path'), '/sheds/tools')
  await page.goto(`${url}/explorer/?tree=kept&path=/secret`)
  await page.getByText('Not yours to read').waitFor()
  await page.goto(`${url}/explorer/?tree=kept&view=merge&branch=gone`)
  await row(page, 'roses').waitFor()
  assert.deepEqual([query(page).get('branch'), query(page).get('path')], [null, '/beds'])
  await page.getByText('live', { exact: true }).waitFor()
  assert.equal(await ask('/trees/kept/commits', { edits: [{ op: 'remove', path: '/beds' }] }), 200)
  await row(page, 'roses').waitFor({ state: 'detached' })
  await page.getByText('Not there any more').waitFor()
  assert.deepEqual(complaints, [])
})
