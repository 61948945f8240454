import { useEffect, useRef, useState } from 'preact/hooks'
import { logIn } from '../api/client.ts'
import type { App, Theme } from '../state/app.ts'
import { focus } from '../state/focus.ts'
import { expression } from '../model/words.ts'
import { Person } from './Person.tsx'
import { Link } from './Link.tsx'

const THEMES: Record<Theme, [Theme, string]> = {
  auto: ['light', '◐'], light: ['dark', '☀'], dark: ['auto', '☾'],
}

/** The top of the page: where one is, and who. */
export function Bar({ app }: { app: App }) {
  const { session, theme } = app
  const [next, sign] = THEMES[theme]
  return (
    <header class="bar">
      <a class="home" href="?" onClick={(event) => { event.preventDefault(); app.home() }}>
        <img src="/assets/leaf.svg" alt="" width="20" height="20" />
        <span>Jungle</span>
      </a>
      {session && (
        <>
          <span class="slash" aria-hidden="true">/</span>
          <Link app={app} class="tree-name" to={{ path: session.top, view: 'node', at: undefined }}>{session.tree}</Link>
          <Link app={app} class="branch" label={`branch ${session.branch}`} to={{ view: 'branches' }} then={() => { app.pane = 'panel' }}>
            <span aria-hidden="true">⎇ </span>{session.branch}
          </Link>
          <Search app={app} />
          <span class={`live ${session.live}`} role="status" title={LIVE[session.live]}>
            <span class="dot" aria-hidden="true" />
            <span class="word">{session.live}</span>
            {session.live === 'ended' && <span class="unseen">. {LIVE.ended}</span>}
          </span>
        </>
      )}
      <span class="grow" />
      <Who app={app} />
      <button type="button" class="plain" aria-label={`colours: ${theme}`} title={`Colours: ${theme}`} onClick={() => { app.theme = next }}>{sign}</button>
      <button type="button" class="plain keys-button" aria-label="keys" title="Keys (?)" onClick={() => app.ask('help')}>?</button>
    </header>
  )
}

const LIVE = {
  live: 'What others change is shown at once',
  connecting: 'Trying to reach the server',
  ended: 'This branch is gone, or the server forgot where we were: load the page again',
}

function Search({ app }: { app: App }) {
  const find = app.address.view === 'search' ? (app.address.find ?? '') : ''
  const [text, setText] = useState(find)
  /** What was typed in, by the expression that was made of it. */
  const typed = useRef(new Map<string, string>())
  useEffect(() => setText(typed.current.get(find) ?? find), [find])
  const submit = (event: SubmitEvent) => {
    event.preventDefault()
    if (text.trim() === '' || app.session === undefined) return
    app.pane = 'panel'
    const made = expression(text, [...app.session.attributes])
    typed.current.set(made, text)
    app.go({ view: 'search', find: made })
  }
  return (
    <form class="search" role="search" onSubmit={submit}>
      <input
        id="search" type="search" value={text} placeholder={'Search: milk, or done = false'}
        aria-label="Search" autocomplete="off" spellcheck={false}
        onInput={(event) => setText(event.currentTarget.value)}
      />
      <kbd aria-hidden="true">/</kbd>
    </form>
  )
}

/** The name under which edits are made. */
function Who({ app }: { app: App }) {
  const [isEdited, edit] = useState(false)
  if (app.isStranger) {
    return <button type="button" class="link who" onClick={logIn}>Log in</button>
  }
  if (app.me?.accounts) {
    return (
      <form class="who" method="post" action="/logout">
        <Person name={app.me.name} />
        <button type="submit" class="link">Log out</button>
      </form>
    )
  }
  if (!isEdited) {
    return (
      <button type="button" class="plain who" title="The name your edits are made under" onClick={() => edit(true)}>
        <Person name={app.author} />
      </button>
    )
  }
  const keep = (event: Event) => {
    app.author = (event.currentTarget as HTMLInputElement).value
    edit(false)
  }
  return (
    <input
      class="who" aria-label="your name" maxLength={80} value={app.author === 'somebody' ? '' : app.author}
      placeholder="your name" ref={focus} onBlur={keep}
      onKeyDown={(event) => { if (!event.isComposing && (event.key === 'Enter' || event.key === 'Escape')) keep(event) }}
    />
  )
}
