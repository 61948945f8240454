/** Debian's Chromium, and a Jungle of its own: what the browser tests need. */

import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { chromium } from 'playwright-core'

const ARGUMENTS = [
  '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
  '--disable-background-networking', '--disable-component-update', '--disable-sync',
]

export function launch() {
  const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium'
  return chromium.launch({ executablePath, args: ARGUMENTS })
}

const PASSWORD = 'correct horse'

function command() {
  const command = process.env.JUNGLE_COMMAND
  if (command === undefined) throw new Error('JUNGLE_COMMAND must name the `jungle` to test')
  return command
}

/**
 * As `serve`, where each of these people has a role for all trees, or roles for parts of some
 * (`[[tree, role, path]]`), and nobody else any; `public` is everybody, without a name.
 */
async function serveGuarded(people) {
  const folder = mkdtempSync(join(tmpdir(), 'jungle-'))
  const access = (words, input) => execFileSync(command(), ['access', ...words], { input })
  for (const [name, granted] of Object.entries(people)) {
    if (name !== 'public') access(['add-user', folder, name, '--password-stdin'], `${PASSWORD}\n`)
    const grants = typeof granted === 'string' ? [['*', granted, '/']] : granted
    for (const [tree, role, path] of grants) access(['grant', folder, name, tree, role, path])
  }
  const server = await serve(['--access', join(folder, 'access.toml')])
  const stop = async () => {
    await server.stop()
    rmSync(folder, { recursive: true })
  }
  return { ...server, stop }
}

/** Two servers that are one cluster, and their engine; `urls` is where they are, `engine` where it is. */
export async function serveCluster() {
  // Where `cargo xtask nats` has put it, beside what cargo builds.
  const engine = join(dirname(command()), '..', 'nats-server-2.15.2', 'nats-server')
  const few = ['--servers', '2', '--engine-servers', '1', '--unsynced', '--nats-server', engine]
  const up = spawn(command(), ['cluster', 'up', '--json', ...few], { stdio: ['ignore', 'pipe', 'inherit'] })
  let told = ''
  for await (const part of up.stdout) {
    told += part
    if (told.endsWith('\n')) {
      const { servers, engine } = JSON.parse(told)
      return { urls: servers.map(({ url }) => url), engine, stop: () => stop(up) }
    }
  }
  throw new Error(`the cluster said nothing of where it is: ${told}`)
}

/** The only server of a cluster of this name, on an engine that is there. */
export async function serveAlone(engine, name) {
  const folder = mkdtempSync(join(tmpdir(), 'jungle-'))
  const cluster = ['--cluster', engine, '--cluster-name', name, '--replicas', '1', '--cluster-unsynced']
  const server = await serve(cluster, ['--data', folder])
  const stop = async () => {
    await server.stop()
    rmSync(folder, { recursive: true })
  }
  return { ...server, stop }
}

/** Starts a server, in memory if nothing else is said, on a free port; `url` is where it is. */
export async function serve(more = [], where = ['--memory']) {
  const usual = ['serve', ...where, '--listen', '127.0.0.1:0', '--log', 'warn']
  const server = spawn(command(), [...usual, ...more], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let told = ''
  for await (const part of server.stdout) {
    told += part
    const found = /http:\/\/[\d.]+:\d+/.exec(told)
    if (found) return { url: process.env.JUNGLE_URL ?? found[0], stop: () => stop(server) }
  }
  throw new Error(`the server said nothing of where it is: ${told}`)
}

async function stop(server) {
  const ended = once(server, 'exit')
  server.kill('SIGTERM')
  await ended
}

/**
 * Opens a page as somebody. What the browser complains of, such as a script or style that the
 * content-security policy forbids, fails the test.
 */
export async function open(browser, url, author, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options })
  await context.addInitScript((name) => localStorage.setItem('jungle.author', name), author)
  const page = await context.newPage()
  const complaints = []
  page.on('pageerror', (error) => complaints.push(String(error.stack)))
  page.on('console', (message) => {
    const isRefusal = message.text().includes('the server responded with a status of 4')
    if (message.type() === 'error' && !isRefusal) complaints.push(message.text())
  })
  await page.goto(url)
  return { page, complaints, forget: () => context.clearCookies(), close: () => context.close() }
}

/**
 * A page of a server where these people have what `serveGuarded` gives them. Both are there until it
 * has been used.
 */
export async function openGuarded(browser, people, place, run, options = {}) {
  const guarded = await serveGuarded(people)
  try {
    const visitor = await open(browser, `${guarded.url}${place}`, 'not asked for', options)
    visitor.page.setDefaultTimeout(60_000)
    await run({ ...visitor, url: guarded.url }).finally(visitor.close)
  } finally {
    await guarded.stop()
  }
}

/** Of the explorer: a row that says this, the one that is chosen, and what its address asks for. */
export const row = (page, text) => page.getByRole('treeitem').filter({ hasText: text }).first()
export const chosen = (page) => page.locator('.row.chosen')
export const query = (page) => new URLSearchParams(new URL(page.url()).search)

/** As a server answers that is asked too often. */
export const refuse = (route) => route.fulfill({ status: 429, contentType: 'application/problem+json', body: '{}' })

/** The browser of the tests shows all tabs, so a tab is told what one in a window is told. */
export async function turn(page, isHidden) {
  await page.evaluate((isHidden) => {
    Object.defineProperty(document, 'hidden', { value: isHidden, configurable: true })
    document.dispatchEvent(new Event('visibilitychange'))
  }, isHidden)
}

/** Says who one is, on the page that asks for it. */
export async function logIn(page, name, password = PASSWORD) {
  await page.getByLabel('Name').fill(name)
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Log in' }).click()
}

/** The interface, for making what a test needs. */
export class Api {
  constructor(url) {
    this.api = `${url}/api/v1`
  }

  async ask(method, path, body) {
    const response = await fetch(`${this.api}${path}`, {
      method,
      headers: { 'Content-Type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`)
    return response.status === 204 ? undefined : response.json()
  }

  get(path) {
    return this.ask('GET', path)
  }

  create(name) {
    return this.ask('POST', '/trees', { name })
  }

  commit(tree, author, message, edits, branch = 'main') {
    return this.ask('POST', `/trees/${tree}/commits?branch=${branch}`, { author, message, edits })
  }
}
