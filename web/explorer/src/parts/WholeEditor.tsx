import { useState } from 'preact/hooks'
import * as api from '../api/client.ts'
import type { Value } from '../api/types.ts'
import { beginning, size, toBase64, type Typed } from '../model/value.ts'
import type { App } from '../state/app.ts'
import { ValueEditor } from './Value.tsx'

interface Props {
  app: App
  /** Where all of the value is, of which a page may show the beginning only. */
  version: api.Version
  path: string
  attribute: string
  value: Value
  /** What has been made of it so far, where it is opened again. */
  typed?: Typed | undefined
  /** What the field is for, to those who do not see it. */
  label: string
  keep?: string
  isFocused?: boolean
  /** All of a value that was cut is there. */
  onLoad?: (whole: Value) => void
  onKeep: (value: Value) => void
  onCancel?: () => void
  onWrite?: (typed: Typed) => void
}

/** What is cut is fetched whole before it is edited. */
export function WholeEditor({ app, version, path, attribute, value, onLoad, ...more }: Props) {
  const { onCancel } = more
  const [whole, setWhole] = useState<Value | undefined>(value.bytes === undefined ? value : undefined)
  const fetchIt = async () => {
    const found = await app.did(wholeValue(version, path, attribute, value))
    if (found === undefined) return onCancel?.()
    setWhole(found.value)
    onLoad?.(found.value)
  }
  if (whole === undefined) {
    return (
      <span class="editor">
        <button type="button" onClick={() => void fetchIt()}>Load all {size(value.bytes ?? 0)} to edit them</button>
        {onCancel && <button type="button" onClick={onCancel}>Cancel</button>}
      </span>
    )
  }
  return <ValueEditor value={whole} {...more} />
}

/** All of a value that is known to begin so, with the `ETag` of the version it is from. */
export async function wholeValue(version: api.Version, path: string, attribute: string, known: Value) {
  const response = await api.whole(version, path, attribute)
  const isText = known.type === 'text'
  const value = isText ? await response.text() : toBase64(new Uint8Array(await response.arrayBuffer()))
  if (!value.startsWith(beginning(known))) throw new api.Problem(409, `${path} has another ${attribute} by now`)
  return { value: { type: known.type, value }, tag: response.headers.get('ETag') ?? '' }
}
