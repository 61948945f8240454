import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import type { App } from '../state/app.ts'

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

/** A question in front of everything else: the browser keeps the focus in it and gives it back, Escape closes it. */
export function Dialog({ app, title, does, isBad, onDo, onClose, children }: Props) {
  const dialog = useRef<HTMLDialogElement>(null)
  // What is said behind it is dim, and to who is read to it is not said at all.
  const before = useRef(new Set(app.notices.map(({ id }) => id)))
  const wrong = app.notices.findLast((notice) => notice.isBad && !before.current.has(notice.id))
  const isThere = useRef(true)
  useEffect(() => {
    const element = dialog.current
    element?.showModal()
    return () => {
      isThere.current = false
      // One that is taken away open gives nothing back.
      element?.close()
      if (document.activeElement === document.body) document.getElementById('tree')?.focus()
    }
  }, [])
  const isDoing = useRef(false)
  const submit = async (event: SubmitEvent) => {
    event.preventDefault()
    // Who presses a key twice means it once.
    if (isDoing.current) return
    isDoing.current = true
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
        {wrong && <p class="wrong" role="alert">{wrong.text}{wrong.hint && <small> {wrong.hint}</small>}</p>}
        <p class="actions">
          <button type="button" onClick={onClose}>{does ? 'Cancel' : 'Close'}</button>
          {does && <button type="submit" class={isBad ? 'bad' : 'main'}>{does}</button>}
        </p>
      </form>
    </dialog>
  )
}
