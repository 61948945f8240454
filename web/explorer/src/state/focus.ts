/** The keyboard goes on where it was, also where what had the focus went with what it did. */

/** In these the focus stays. */
const AREAS = '.sheet, .home-page, .unsaved, .notices'
const HEADING = 'h1[tabindex]'
/** Nothing that is written in: the next key may be meant for the page, and a phone would show its own keys. */
const USABLE = 'button:not(:disabled), a[href], select'

/** For a field that opens: always the same, or it would have the focus again whenever the page is drawn. */
export const focus = (field: HTMLElement | null) => field?.focus()

/** Watches over the focus, until what it returns is called. */
export function keepFocus(): () => void {
  /** What had the focus last, and all that it is in. */
  let around: Element[] = []
  const note = ({ target }: FocusEvent) => {
    around = []
    let at = target as Element | null
    const area = at?.closest(AREAS)
    while (at !== null && area?.contains(at)) {
      around.push(at)
      at = at.parentElement
    }
  }
  const look = () => {
    if (around[0]?.isConnected !== false || document.activeElement !== document.body) return
    for (const place of around.filter((one) => one.isConnected)) {
      const next = place.querySelector<HTMLElement>(HEADING) ?? place.querySelector<HTMLElement>(USABLE)
      // Where one looks stays: what went may have been at the end of a long page.
      if (next) return next.focus({ preventScroll: true })
    }
    // Nothing is unsaved any more: on with the page.
    if (around.at(-1)?.isConnected) document.querySelector<HTMLElement>(HEADING)?.focus({ preventScroll: true })
  }
  const watch = new MutationObserver(look)
  addEventListener('focusin', note)
  watch.observe(document.body, { childList: true, subtree: true })
  return () => {
    removeEventListener('focusin', note)
    watch.disconnect()
  }
}
