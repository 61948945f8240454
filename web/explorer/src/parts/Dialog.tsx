import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'

interface Props {
  title: string
  /** What the button says that does it; without it there is only one to close. */
  does?: string
  isBad?: boolean
  onDo?: () => void
  onClose: () => void
  children: ComponentChildren
}

/** A question in front of everything else: the browser keeps the focus in it, Escape closes it. */
export function Dialog({ title, does, isBad, onDo, onClose, children }: Props) {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => dialog.current?.showModal(), [])
  const submit = (event: SubmitEvent) => {
    event.preventDefault()
    onDo?.()
  }
  return (
    <dialog ref={dialog} onClose={onClose} aria-labelledby="dialog-title">
      <form onSubmit={submit}>
        <h2 id="dialog-title">{title}</h2>
        {children}
        <p class="actions">
          <button type="button" onClick={onClose}>{does ? 'Cancel' : 'Close'}</button>
          {does && <button type="submit" class={isBad ? 'bad' : 'main'}>{does}</button>}
        </p>
      </form>
    </dialog>
  )
}
