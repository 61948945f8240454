import { useRef, useState } from 'preact/hooks'
import { PROGRAMS, type Language } from '../model/programs.ts'
import type { App } from '../state/app.ts'
import { Dialog } from './Dialog.tsx'

interface Props {
  app: App
  address: string
  onClose: () => void
}

/** How programs ask for an address, to be copied. */
export function CopyAs({ app, address, onClose }: Props) {
  const [language, setLanguage] = useState<Language>('curl')
  const program = useRef<HTMLTextAreaElement>(null)
  const text = PROGRAMS[language](address)
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text)
      app.say('copied')
      onClose()
    } catch {
      // Browsers have no clipboard for pages that came without TLS from another machine.
      program.current?.select()
    }
  }
  return (
    <Dialog app={app} title="Copy as" does="Copy" onDo={copy} onClose={onClose}>
      <label>For
        <select value={language} onChange={(event) => setLanguage(event.currentTarget.value as Language)}>
          {Object.keys(PROGRAMS).map((one) => <option key={one} value={one}>{one}</option>)}
        </select>
      </label>
      <textarea ref={program} aria-label="program" readOnly autofocus rows={6} value={text} onFocus={(event) => event.currentTarget.select()} />
    </Dialog>
  )
}
