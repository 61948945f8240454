import type { App } from '../state/app.ts'
import type { Notice } from '../state/said.ts'

/** What went well, said for a while, and what went wrong, until it is dismissed; screen readers read both out. */
export function Notices({ app }: { app: App }) {
  const { all } = app.said
  return (
    <div class="notices">
      <div role="status">
        {all.filter(({ isBad }) => !isBad).map((notice) => <p key={notice.id} class="notice"><Words app={app} notice={notice} /></p>)}
      </div>
      {all.filter(({ isBad }) => isBad).map((notice) => <p key={notice.id} class="notice bad" role="alert"><Words app={app} notice={notice} /></p>)}
    </div>
  )
}

function Words({ app, notice: { id, text, hint } }: { app: App; notice: Notice }) {
  return (
    <>
      <span>
        {text}
        {hint && <small>{hint}</small>}
      </span>
      <button type="button" class="plain" aria-label="dismiss" onClick={() => app.said.dismiss(id)}>×</button>
    </>
  )
}
