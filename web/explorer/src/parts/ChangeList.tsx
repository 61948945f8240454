import type { Value } from '../api/types.ts'
import { type ChangeRow, type Sign, wordDiff } from '../model/changes.ts'
import { count } from '../model/value.ts'
import type { App } from '../state/app.ts'
import { PathLink } from './Link.tsx'
import { AttributeName, ValueText } from './Value.tsx'

const SIGNS: Record<Sign, string> = { added: '+', removed: '−', changed: '~', moved: '→' }

/** What happened, place by place. */
export function ChangeList({ app, rows }: { app: App; rows: readonly ChangeRow[] }) {
  return (
    <ol class="changes">
      {rows.map((row, at) => (
        <li key={at} class={`change ${row.sign}`}>
          <span class="sign" title={row.sign}><span aria-hidden="true">{SIGNS[row.sign]}</span><span class="unseen">{row.sign}</span></span>
          <div>
            <p class="place">
              {row.sign === 'removed' ? <span class="path">{row.path}</span> : <PathLink app={app} path={row.path} />}
              {row.from !== undefined && <span class="quiet"> from {row.from}</span>}
              {row.nodes !== undefined && <span class="quiet"> with {count(row.nodes)} nodes</span>}
            </p>
            {row.puts.length > 0 && (
              <dl>
                {row.puts.map(({ attribute, old, now }) => (
                  <div key={attribute}>
                    <dt><AttributeName name={attribute} /></dt>
                    <dd><Difference old={old} now={now} /></dd>
                  </div>
                ))}
              </dl>
            )}
          </div>
        </li>
      ))}
    </ol>
  )
}

/** What a value was and is; of two texts, the words that went and came. */
export function Difference({ old, now }: { old: Value | undefined; now: Value | undefined }) {
  if (old?.type === 'text' && now?.type === 'text' && old.bytes === undefined && now.bytes === undefined) {
    return (
      <span class="value text words">
        {wordDiff(String(old.value), String(now.value)).map(({ kind, text }, at) => {
          if (kind === 'same') return <span key={at}>{text}</span>
          return kind === 'old' ? <del key={at}>{text}</del> : <ins key={at}>{text}</ins>
        })}
      </span>
    )
  }
  return (
    <>
      {old && <del><ValueText value={old} /></del>}
      {old && now && <span class="quiet" aria-hidden="true"> → </span>}
      {now && <ins><ValueText value={now} /></ins>}
    </>
  )
}
