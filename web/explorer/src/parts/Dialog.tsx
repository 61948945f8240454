import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import type { App } from '../state/app.ts'
import type { Notice } from '../state/said.ts'

interface Props {
  app: App
  title: string
  /** What the button says that does it; without it there is only one to close. */
  does?: string
  isBad?: boolean
  onDo?: () => void | Promise<void>
  onClose: () => void
  children: ComponentChildren
}

/** What has been said already. */
const known = (app: App) => new Set(app.said.all.map(({ id }) => id))

/** A question in front of everything else: the browser keeps the focus in it, and it goes back to where it was, Escape closes it. */
export function Dialog({ app, title, does, isBad, onDo, onClose, children }: Props) {
  const dialog = useRef<HTMLDialogElement>(null)
  // What is said behind it is dim; to who is read to it is not said at all. Here it stays until one tries again.
  const before = useRef(known(app))
  const told = useRef<Notice | undefined>(undefined)
  const wrong = app.said.all.findLast(({ id, isBad }) => isBad && !before.current.has(id)) ?? told.current
  told.current = wrong
  /** Who has read it here need not dismiss it behind. */
  const forget = () => {
    if (told.current) app.said.dismiss(told.current.id)
    told.current = undefined
  }
  const isThere = useRef(true)
  useEffect(() => {
    const element = dialog.current
    const opener = document.activeElement
    element?.showModal()
    return () => {
      isThere.current = false
      forget()
      // One that is taken away gives nothing back.
      element?.close()
      if (document.activeElement !== document.body) return
      if (opener instanceof HTMLElement && opener.isConnected) opener.focus()
      if (document.activeElement === document.body) document.getElementById('tree')?.focus()
    }
  }, [])
  const isDoing = useRef(false)
  const submit = async (event: SubmitEvent) => {
    event.preventDefault()
    // Who presses a key twice means it once.
    if (isDoing.current) return
    isDoing.current = true
    forget()
    before.current = known(app)
    try {
      await onDo?.()
    } finally {
      isDoing.current = false
    }
  }
  return (
    <dialog ref={dialog} onClose={() => isThere.current && onClose()} aria-labelledby="dialog-title">
      <form onSubmit={submit}>
        <h2 id="dialog-title">{title}</h2>
        {children}
        {wrong && <p key={wrong.id} class="wrong" role="alert">{wrong.text}{wrong.hint && <small> {wrong.hint}</small>}</p>}
        <p class="actions">
          <button type="button" onClick={onClose}>{does ? 'Cancel' : 'Close'}</button>
          {does && <button type="submit" class={isBad ? 'bad' : 'main'}>{does}</button>}
        </p>
      </form>
    </dialog>
  )
}
