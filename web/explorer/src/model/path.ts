/** Paths as the server writes them: `/features/3/"a/b"`. */

/** The keys, each as it is written. */
export function keys(path: string): string[] {
  const found: string[] = []
  let at = 1
  while (at < path.length) {
    const end = path[at] === '"' ? behindQuote(path, at) : slashFrom(path, at)
    found.push(path.slice(at, end))
    at = end + 1
  }
  return found
}

function slashFrom(path: string, at: number): number {
  const slash = path.indexOf('/', at)
  return slash < 0 ? path.length : slash
}

function behindQuote(path: string, quote: number): number {
  let at = quote + 1
  while (at < path.length && path[at] !== '"') at += path[at] === '\\' ? 2 : 1
  return Math.min(at + 1, path.length)
}

export function join(keys: readonly string[]): string {
  return `/${keys.join('/')}`
}

export function child(parent: string, key: string): string {
  return parent === '/' ? `/${key}` : `${parent}/${key}`
}

/** The path above; of the root nothing. */
export function parent(path: string): string | undefined {
  if (path === '/') return undefined
  return join(keys(path).slice(0, -1))
}

export function lastKey(path: string): string {
  return keys(path).at(-1) ?? '/'
}

/** The root and everything on the way, with the path itself. */
export function ancestors(path: string): string[] {
  const all = keys(path)
  return ['/', ...all.map((_, index) => join(all.slice(0, index + 1)))]
}

export function isBelow(path: string, above: string): boolean {
  return path !== above && path.startsWith(above === '/' ? '/' : `${above}/`)
}

/** Is it this node, or below it? */
export function isWithin(path: string, top: string): boolean {
  return path === top || isBelow(path, top)
}

/** Of the parts of a tree, the one that has a node; or the first that is below it. */
export function partOf(parts: readonly string[], path: string): string | undefined {
  return parts.find((part) => isWithin(path, part)) ?? parts.find((part) => isBelow(part, path))
}

const POSITION = /^(-?\d+)(?:\.((?:[0-9a-f]{2})+))?$/

/** Does a key stand for a place among the others, not for a name? */
export function isPosition(key: string): boolean {
  return POSITION.test(key)
}

/** A key for a name that somebody typed in: as it is, or in quotes where it must be. */
export function keyOf(name: string): string {
  const plain = name !== '' && name === name.trim() && !POSITION.test(name) &&
    // eslint-disable-next-line no-control-regex
    !/[/"\\\u0000-\u001f\u007f-\u009f]/.test(name)
  return plain ? name : JSON.stringify(name)
}

/** The name that a key stands for; a position is written as it is. */
export function nameOf(key: string): string {
  return key.startsWith('"') ? (JSON.parse(key) as string) : key
}

/** A path that somebody typed in, as the server writes it: without quotes that need not be. */
export function canonical(path: string): string {
  return join(keys(path).map((key) => (key.startsWith('"') ? keyOf(nameOf(key)) : key)))
}

/**
 * The order of siblings: positions as numbers, their fractions digit by digit; then names by their
 * bytes, which for UTF-8 is the order of code points.
 */
export function compareKeys(left: string, right: string): number {
  const [a, b] = [POSITION.exec(left), POSITION.exec(right)]
  if (a && b) {
    const [x, y] = [BigInt(a[1]!), BigInt(b[1]!)]
    return x === y ? order(a[2] ?? '', b[2] ?? '') : order(x, y)
  }
  if (a || b) return a ? -1 : 1
  const [x, y] = [[...nameOf(left)], [...nameOf(right)]]
  for (let at = 0; at < Math.min(x.length, y.length); at += 1) {
    const found = order(x[at]!.codePointAt(0)!, y[at]!.codePointAt(0)!)
    if (found !== 0) return found
  }
  return x.length - y.length
}

function order<T extends string | number | bigint>(left: T, right: T): number {
  return left < right ? -1 : left > right ? 1 : 0
}
