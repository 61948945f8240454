import type { App } from '../state/app.ts'

/** What went well or wrong, said for a while; screen readers read it out. */
export function Notices({ app }: { app: App }) {
  return (
    <div class="notices" role="status" aria-live="polite">
      {app.notices.map(({ id, text, hint, isBad }) => (
        <p key={id} class={isBad ? 'notice bad' : 'notice'}>
          <span>
            {text}
            {hint && <small>{hint}</small>}
          </span>
          <button type="button" class="plain" aria-label="dismiss" onClick={() => app.dismiss(id)}>×</button>
        </p>
      ))}
    </div>
  )
}
