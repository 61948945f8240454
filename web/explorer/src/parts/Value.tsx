import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { Attributes, Kind, Value } from '../api/types.ts'
import { edited, KINDS, read, shown, type Typed } from '../model/value.ts'

/** Attributes that tell most about a node, if they are text. */
const TELLING = ['title', 'name', 'text', 'label']
/** Attributes and letters of each that a row shows. */
const SUMMARY_MAX = 5
const LETTERS_MAX = 120

/** A value, coloured by its type. */
export function ValueText({ value, letters }: { value: Value; letters?: number }) {
  return <span class={`value ${value.type}`}>{shown(value, letters)}</span>
}

/** What an attribute is called: a number or a word that was imported as JSON stands in one without a name. */
export function AttributeName({ name }: { name: string }) {
  return name === '' ? <em class="quiet">no name</em> : <>{name}</>
}

/** What a node is called by its attributes, and which one says it. */
export function telling(attributes: Attributes): [name: string, text: string] | undefined {
  const name = TELLING.find((one) => attributes[one]?.type === 'text' && attributes[one].value !== '')
  return name === undefined ? undefined : [name, brief(attributes[name]!)]
}

/** The attributes of a node, in one line: what it is called, then what is short. */
export function Summary({ attributes }: { attributes: Attributes }) {
  const called = telling(attributes)
  const names = Object.keys(attributes).filter((name) => name !== called?.[0])
  const isText = (name: string) => Number(attributes[name]!.type === 'text')
  const first = names.sort((left, right) => isText(left) - isText(right)).slice(0, SUMMARY_MAX)
  return (
    <span class="summary">
      {called && <span class="telling" title={called[1]}>{called[1]}</span>}
      {first.map((name) => (
        <span key={name}>
          <span class="attribute">{name}</span>{' '}
          <span class={`value ${attributes[name]!.type}`}>{brief(attributes[name]!)}</span>
        </span>
      ))}
      {names.length > first.length && <span class="attribute">+{names.length - first.length}</span>}
    </span>
  )
}

function brief(value: Value): string {
  const text = value.type === 'text' ? String(value.value) : shown(value)
  return text.length > LETTERS_MAX ? `${text.slice(0, LETTERS_MAX)}…` : text
}

interface EditorProps {
  value: Value
  /** What has been made of it so far, where it is opened again. */
  typed?: Typed | undefined
  /** What the field is for, to those who do not see it. */
  label: string
  onKeep: (value: Value) => void
  onCancel?: () => void
  /** Something else is there than was kept, if anything was. */
  onWrite?: (typed: Typed) => void
  keep?: string
  isFocused?: boolean
}

/** Where the value itself is written. */
const FIELD = '[aria-label^="value of"]'

/** A value being written: its type and what it is. What cannot be is said, and not kept. */
export function ValueEditor({ value, typed, label, onKeep, onCancel, onWrite, keep = 'Save', isFocused = true }: EditorProps) {
  const [{ kind, text }, setTyped] = useState<Typed>(typed ?? { kind: value.type, text: edited(value) })
  const [wrong, setWrong] = useState<string>()
  const editor = useRef<HTMLSpanElement>(null)
  // Once: who has chosen another type, which may have another field, may go on choosing.
  useLayoutEffect(() => {
    if (isFocused) editor.current?.querySelector<HTMLElement>(FIELD)?.focus()
  }, [])
  const write = (next: Typed) => {
    setTyped(next)
    setWrong(undefined)
    onWrite?.(next)
  }
  const submit = () => {
    const found = read(kind, text)
    if (typeof found === 'string') setWrong(found)
    else onKeep(found)
  }
  const key = (event: KeyboardEvent) => {
    // A button does what it says; and where a word is put together of several keys, they are about that.
    if (event.isComposing || (event.key === 'Enter' && (event.target as HTMLElement).matches('button'))) return
    // The keys of a phone have no other way to write a line below.
    const isLine = kind === 'text' && (event.shiftKey || matchMedia('(pointer: coarse)').matches)
    if (event.key === 'Enter' && !isLine) submit()
    else if (event.key === 'Escape' && onCancel) onCancel()
    else return
    event.preventDefault()
    event.stopPropagation()
  }
  const change = (next: Kind) => write({ kind: next, text: next === 'bool' && text !== 'true' ? 'false' : text })
  return (
    <span ref={editor} class="editor" onKeyDown={key}>
      <select aria-label={`type of ${label}`} value={kind} onChange={(event) => change(event.currentTarget.value as Kind)}>
        {KINDS.map((one) => <option key={one}>{one}</option>)}
      </select>
      <Field kind={kind} text={text} label={label} onText={(next) => write({ kind, text: next })} />
      <button type="button" class="main" onClick={submit}>{keep}</button>
      {onCancel && <button type="button" onClick={onCancel}>Cancel</button>}
      {wrong && <span class="wrong" role="alert">{wrong}</span>}
    </span>
  )
}

interface FieldProps {
  kind: Kind
  text: string
  label: string
  onText: (text: string) => void
}

function Field({ kind, text, label, onText }: FieldProps) {
  const shared = { 'aria-label': `value of ${label}`, value: text, spellcheck: false }
  const input = (event: { currentTarget: { value: string } }) => onText(event.currentTarget.value)
  switch (kind) {
    case 'null':
      return <span class="value null">null</span>
    case 'bool':
      return <select {...shared} onChange={input}><option>true</option><option>false</option></select>
    case 'text':
      return <textarea {...shared} rows={Math.min(10, text.split('\n').length)} onInput={input} />
    default:
      return <input {...shared} inputMode={kind === 'int' ? 'numeric' : 'text'} autocomplete="off" onInput={input} />
  }
}
