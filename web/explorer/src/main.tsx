import { render } from 'preact'
import { useEffect, useLayoutEffect, useState } from 'preact/hooks'
import { HelpDialog } from './parts/Help.tsx'
import { Home } from './panels/Home.tsx'
import { Notices } from './parts/Notices.tsx'
import { Bar } from './parts/Bar.tsx'
import { Explorer } from './parts/Explorer.tsx'
import { Unsaved } from './parts/Unsaved.tsx'
import { App } from './state/app.ts'
import { keepFocus } from './state/focus.ts'
import { onKey } from './state/shortcuts.ts'
import './styles/base.css'
import './styles/frame.css'
import './styles/tree.css'
import './styles/timeline.css'
import './styles/panel.css'
import './styles/changes.css'

function Page({ app }: { app: App }) {
  const [, draw] = useState(0)
  // At once, not after the next frame: what the server has told by then would not be drawn.
  useLayoutEffect(() => app.listen(() => draw((count) => count + 1)), [app])
  useEffect(() => {
    const key = (event: KeyboardEvent) => onKey(app, event)
    addEventListener('keydown', key)
    return () => removeEventListener('keydown', key)
  }, [app])
  useEffect(keepFocus, [])
  const { session } = app
  return (
    <>
      <Bar app={app} />
      <Unsaved app={app} />
      {session ? <Explorer key={`${session.tree}\n${session.branch}\n${session.top}`} app={app} session={session} /> : <Without app={app} />}
      <Notices app={app} />
      <HelpDialog app={app} />
    </>
  )
}

/** No tree is open. */
function Without({ app }: { app: App }) {
  const { tree } = app.address
  if (tree === undefined) return <Home app={app} />
  if (!app.isUntold) return null
  return (
    <main class="home-page">
      <h1>{tree}</h1>
      <p>The server did not say what is here.</p>
      <button type="button" class="main" onClick={() => void app.open()}>Try again</button>
    </main>
  )
}

render(<Page app={new App()} />, document.getElementById('app')!)
