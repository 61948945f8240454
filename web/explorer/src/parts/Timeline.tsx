import { useEffect, useRef, useState } from 'preact/hooks'
import { type Mark, most, timeMarks } from '../model/timeline.ts'
import { count } from '../model/value.ts'
import { ago, clock, hue } from '../model/words.ts'
import { step } from '../state/shortcuts.ts'
import type { PanelProps } from './Explorer.tsx'
import { Link } from './Link.tsx'
import { Person } from './Person.tsx'

/** How long a revision is shown while all of them go by. */
const PLAY_MS = 700
/** Marks on the slider: with more revisions, neighbours share one. */
const MARKS_MAX = 240
/** Half the height of a tag's mark. */
const TALLEST = 9

/** The slider over revisions: who, when and what. */
export function Timeline({ app, session }: PanelProps) {
  const { revisions, place } = session
  const [isPlaying, play] = useState(false)
  const frame = useRef(0)
  const last = revisions.length - 1
  const marks = timeMarks(revisions, MARKS_MAX)
  const share = most(marks)
  const found = session.upTo(session.revision)
  const before = session.before(found)
  const isPast = app.address.at !== undefined
  // What comes behind a revision that is older than the slider goes is not known.
  const hasNewer = place >= 0 && place < last

  useEffect(() => {
    if (!isPlaying) return
    if (!hasNewer) return play(false)
    const timer = setTimeout(() => step(app, 1), PLAY_MS)
    return () => clearTimeout(timer)
  }, [isPlaying, place, hasNewer])

  const slide = (to: number) => {
    play(false)
    cancelAnimationFrame(frame.current)
    frame.current = requestAnimationFrame(() => {
      app.go({ at: to === last ? undefined : revisions[to]?.revision }, 'replace')
    })
  }
  const start = () => {
    if (!isPlaying && place >= last && revisions[0]) app.go({ at: revisions[0].revision }, 'replace')
    play(!isPlaying)
  }
  const told = found ? `revision ${found.revision}, ${found.author ?? 'nobody named'}, ${clock(found.time)}, ${found.message ?? ''}` : ''
  return (
    <section class={isPast ? 'timeline past' : 'timeline'} aria-label="time">
      <div class="slider">
        <button type="button" class="plain" aria-label={isPlaying ? 'pause' : 'play'} title="Play the history" disabled={place < 0} onClick={start}>{isPlaying ? '❚❚' : '▶'}</button>
        <button type="button" class="plain" aria-label="older revision" title="Older ([)" disabled={before === undefined} onClick={() => step(app, -1)}>‹</button>
        <div class="track">
          <Marks marks={marks} last={last} />
          <input
            type="range" min={0} max={Math.max(0, last)} value={Math.max(0, place)} aria-label="revision" aria-valuetext={told}
            title="The taller a mark, the faster revisions came"
            onInput={(event) => slide(Number(event.currentTarget.value))}
          />
        </div>
        <button type="button" class="plain" aria-label="newer revision" title="Newer (])" disabled={!hasNewer} onClick={() => step(app, 1)}>›</button>
      </div>
      <p class="told">
        {found && (
          <>
            <strong>{found.revision}</strong>
            <Person name={found.author} />
            <time dateTime={found.time} title={clock(found.time)}>{isPast ? clock(found.time) : ago(found.time, Date.now())}</time>
            <span class="message">{found.message ?? ''}</span>
            {found.tags.map((tag) => <span key={tag} class="tag">{tag}</span>)}
          </>
        )}
        {found && place < 0 && last >= 0 && <span class="quiet">older than the slider goes</span>}
        <span class="grow" />
        {share > 1 && <span class="quiet share">{count(share)} revisions to a mark</span>}
        {session.older !== null && <button type="button" class="link" onClick={() => void session.loadRevisions().catch(app.failed)}>older ones</button>}
        {before && app.address.view !== 'changes' && <Link app={app} to={{ view: 'changes', from: undefined }} then={() => { app.pane = 'panel' }}>what changed</Link>}
        {isPast ? <Link app={app} class="newest" to={{ at: undefined }}>to the newest</Link> : <span class="newest quiet">newest</span>}
      </p>
    </section>
  )
}

/** In the colour of who made it; the taller, the faster they came. A tag stands out. */
function Marks({ marks, last }: { marks: readonly Mark[]; last: number }) {
  return (
    <svg class="marks" viewBox="0 0 1000 20" preserveAspectRatio="none" aria-hidden="true">
      {marks.map(({ place, one, pace }) => {
        const x = (place / Math.max(1, last)) * 1000
        const half = one.tags.length > 0 ? TALLEST : 2.5 + 4.5 * pace
        return <line key={one.revision} class={`hue-${hue(one.author)}`} x1={x} x2={x} y1={10 - half} y2={10 + half} vector-effect="non-scaling-stroke" />
      })}
    </svg>
  )
}
