import type { App } from '../state/app.ts'
import { shortcuts } from '../state/shortcuts.ts'
import { Dialog } from './Dialog.tsx'

export function HelpDialog({ app }: { app: App }) {
  if (app.dialog !== 'help') return null
  return (
    <Dialog app={app} title="Keys" onClose={() => app.ask(undefined)}>
      <dl class="keys">
        {shortcuts(app).map(([keys, what]) => (
          <div key={keys}>
            <dt>{keys.split(' ').map((key) => <kbd key={key}>{key}</kbd>)}</dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  )
}
