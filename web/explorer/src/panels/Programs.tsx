import { useState } from 'preact/hooks'
import * as api from '../api/client.ts'
import { formsOf } from '../model/forms.ts'
import { CopyAs } from '../parts/CopyAs.tsx'
import type { NodeProps } from '../parts/Explorer.tsx'

/** A node for programs. */
export function Programs({ app, session, node }: NodeProps) {
  const { tree, branch } = session
  const at = app.address.at?.toString()
  const url = new URL(api.address(tree, '/node', { path: node.path, branch: branch === 'main' ? undefined : branch, at }), location.href)
  const [isCopied, copy] = useState(false)
  return (
    <>
      <div class="programs">
        <Downloads key={node.path} app={app} session={session} node={node} />
        <a href={url.href}>This node as the interface tells it</a>
        <button type="button" class="link" onClick={() => copy(true)}>Copy as …</button>
      </div>
      {isCopied && <CopyAs app={app} address={url.href} onClose={() => copy(false)} />}
    </>
  )
}

/** The node with all below it, in the form that is chosen. */
function Downloads({ app, session, node }: NodeProps) {
  // What has no place for it is refused, and a browser would not say why.
  const saveIfItFits = async (address: string, name: string) => {
    if (await app.did(api.mayCome(address).then(() => true))) save(address, name)
  }
  return (
    <details>
      <summary>Download as …</summary>
      <ul>
        {formsOf(node.path).map(({ called, query, ending, fitsAll }) => {
          const address = api.documentAddress(session.shown, node.path, query)
          const name = `${session.tree}.${ending}`
          const ask = (event: MouseEvent) => {
            if (fitsAll) return
            event.preventDefault()
            void saveIfItFits(address, name)
          }
          return <li key={called}><a href={address} download={name} onClick={ask}>{called}</a></li>
        })}
      </ul>
    </details>
  )
}

function save(address: string, name: string) {
  const link = document.createElement('a')
  link.href = address
  link.download = name
  link.click()
}
