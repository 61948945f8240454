import { useEffect, useRef, useState } from 'preact/hooks'
import * as api from '../api/client.ts'
import type { Child } from '../api/types.ts'
import { count } from '../model/value.ts'
import { isOfWords } from '../model/words.ts'
import type { PanelProps } from '../parts/Explorer.tsx'
import { PathLink } from '../parts/Link.tsx'
import { Summary } from '../parts/Value.tsx'

interface Results {
  /** In which revision the search began. */
  revision: number
  matches: Child[]
  visited: number
  next: string | null
}

/** A search looks at so many pages by itself before it asks whether to go on. */
const PAGES_MAX = 20

/** The nodes for which an expression is true. */
export function SearchPanel({ app, session }: PanelProps) {
  const [results, setResults] = useState<Results>()
  const [problem, setProblem] = useState<api.Problem>()
  const find = app.address.find ?? ''

  const run = async (begin: Results, signal: AbortSignal) => {
    let { revision, matches, visited, next } = begin
    for (let page = 0; page < PAGES_MAX; page += 1) {
      const found = await api.search(session.shown, session.top, find, next ?? undefined, signal)
      revision ||= found.revision
      matches = [...matches, ...found.matches]
      visited += found.visited
      next = found.next
      setResults({ revision, matches, visited, next })
      // Pages may be empty, since the work of one is bounded.
      if (next === null || matches.length >= begin.matches.length + 100) return
    }
  }
  const current = useRef<AbortController | undefined>(undefined)
  const begin = (from: Results) => {
    current.current?.abort()
    const stop = (current.current = new AbortController())
    setProblem(undefined)
    run(from, stop.signal).catch((error: unknown) => {
      if (stop.signal.aborted) return
      if (error instanceof api.Problem) setProblem(error)
      else app.failed(error)
    })
  }
  const again = () => {
    setResults(undefined)
    if (find !== '') begin({ revision: 0, matches: [], visited: 0, next: null })
    return () => current.current?.abort()
  }
  // Not with each commit of anybody: what was found would go while one looks at it.
  useEffect(again, [find, session.at])

  return (
    <>
      <h1 tabIndex={-1}>Search</h1>
      <p class="expression"><code>{find}</code></p>
      {problem && <pre class="wrong" role="alert">{problem.place ?? problem.message}</pre>}
      {results && (
        <>
          <p class="quiet" role="status">{results.matches.length === 0 ? 'Nothing' : count(results.matches.length)}{results.next === null ? '' : ' so far'} found among {count(results.visited)} nodes{session.isWhole ? '' : ` of ${session.top}`}.</p>
          {results.matches.length === 0 && results.next === null && isOfWords(find) && (
            <p class="quiet">Words are looked for as they are written, capitals and all, in names and in the attributes that you have seen so far. An expression looks into any attribute: <code>note ~ "milk"</code>.</p>
          )}
          {session.at === undefined && results.revision < session.head && (
            <p class="quiet">That was in revision {results.revision}. <button type="button" class="link" onClick={again}>Search revision {session.head}</button></p>
          )}
          <ul class="results">
            {results.matches.map((match) => (
              <li key={match.path}>
                <PathLink app={app} path={match.path} />
                <Summary attributes={match.attributes} />
              </li>
            ))}
          </ul>
          {results.next !== null && <button type="button" onClick={() => begin(results)}>More</button>}
        </>
      )}
      {!results && !problem && find === '' && <p class="quiet">Words look into names and attributes. Expressions say more: <code>done = false and text ~ "milk"</code>, <code>exists due</code>, <code>@name ~ "Web*"</code>.</p>}
    </>
  )
}
