import type { ComponentChildren } from 'preact'
import type { Part } from '../model/address.ts'
import type { App } from '../state/app.ts'

interface Props {
  app: App
  to: Part
  children: ComponentChildren
  class?: string
  label?: string
  isCurrent?: boolean
  then?: () => void
}

/** A link within the explorer: an address as any other, without loading the page again. */
export function Link({ app, to, children, class: name, label, isCurrent, then }: Props) {
  const follow = (event: MouseEvent) => {
    if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey) return
    event.preventDefault()
    then?.()
    app.go(to)
  }
  return (
    <a href={app.href(to)} class={name} aria-label={label} aria-current={isCurrent ? 'page' : undefined} onClick={follow}>
      {children}
    </a>
  )
}

/** A link to a node, by its path. */
export function PathLink({ app, path }: { app: App; path: string }) {
  const show = () => {
    app.wanted = path
  }
  return <Link app={app} to={{ path, view: 'node' }} class="path" then={show}>{path}</Link>
}
