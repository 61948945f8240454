import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import * as api from '../api/client.ts'
import type { Committed } from '../api/types.ts'
import { allAs, choose, type Choices, chosenOf, NOTHING_CHOSEN, openOf, settled } from '../model/conflicts.ts'
import { Conflicts, type Party, StillOpen } from '../parts/Conflicts.tsx'
import type { PanelProps } from '../parts/Explorer.tsx'
import { useChoices } from '../state/choices.ts'

interface Props extends PanelProps {
  revision: number
  /** Is what is shown what this one did, and no other? */
  isOne: boolean
}

/** Takes back what one revision did, or goes back to it: both are new commits. */
export function Undo({ app, session, revision, isOne }: Props) {
  const { tree, branch } = session
  /** What is in the way, where it was refused for that. */
  const [seen, setSeen] = useState<api.SeenRevert>()
  const [choices, setChoices] = useChoices(app, session, { undo: revision })
  /** Something was committed since that was told. */
  const [isOld, setOld] = useState(false)
  const isThere = useRef(true)
  useEffect(() => () => { isThere.current = false }, [])
  const finish = (done: Committed | undefined, said: string) => {
    if (done === undefined) return
    // Who has gone on elsewhere is not led back.
    if (app.session === session && app.view === 'changes') app.go({ at: undefined, from: undefined })
    session.refresh()
    app.say(done.changed ? `${said}: revision ${done.revision}` : 'there was nothing to change')
  }
  const goBack = async () => {
    const said = `went back to ${revision}`
    finish(await app.did(api.revert(tree, branch, { revision, mode: 'restore' }, app.told(said))), said)
  }
  /** Is something in the way? Then it is shown. */
  const look = async (): Promise<boolean> => {
    const found = await api.previewRevert(tree, branch, revision)
    setChoices((now) => chosenOf(now, found))
    setSeen(found.conflict_count > 0 ? found : undefined)
    setOld(false)
    return found.conflict_count > 0
  }
  const refused = async (error: unknown): Promise<undefined> => {
    const status = error instanceof api.Problem ? error.status : undefined
    if (seen && status === 412) setOld(true)
    // While the branch goes on, this revision stays the one that is looked at.
    else if (!seen && status === 409 && await look() && isThere.current) app.go({ at: revision }, 'replace')
    else throw error
    return undefined
  }
  const takeBack = async () => {
    const said = `took back ${revision}`
    const wanted = { revision, mode: 'undo' as const, ...(seen && settled(choices, seen.conflicts)) }
    const done = await app.did(api.revert(tree, branch, wanted, app.told(said), seen?.tag).catch(refused))
    if (done) setChoices(() => NOTHING_CHOSEN)
    finish(done, said)
  }
  if (!app.mayBranch) return null
  if (seen && isOne) {
    return (
      <Settle
        app={app} session={session} seen={seen} choices={choices} isOld={isOld}
        onChange={setChoices} onAgain={() => void app.did(look())} onDo={() => void takeBack()}
      />
    )
  }
  return (
    <p class="actions">
      {isOne && <button type="button" onClick={() => void takeBack()}>Take back revision {revision}</button>}
      {app.address.at !== undefined && <button type="button" onClick={() => void goBack()}>Go back to revision {revision}</button>}
    </p>
  )
}

interface SettleProps extends PanelProps {
  seen: api.SeenRevert
  choices: Choices
  isOld: boolean
  onChange: (change: (choices: Choices) => Choices) => void
  /** What is in the way is to be told anew. */
  onAgain: () => void
  onDo: () => void
}

/** What is in the way, to be settled as that of a merge. */
function Settle({ app, session, seen, choices, isOld, onChange, onAgain, onDo }: SettleProps) {
  const { tree, branch } = session
  const { base, ours, theirs, conflicts, conflict_count: total } = seen
  const place = useRef<HTMLElement>(null)
  // The button that led here is gone, and what there is to do is above.
  useLayoutEffect(() => place.current?.focus(), [seen])
  const party = (name: string, at: number): Party => ({ name, all: `All as ${name}`, version: { tree, branch, at: `${at}` } })
  const open = openOf(choices, conflicts, total)
  return (
    <section ref={place} tabIndex={-1} aria-label={`in the way of taking back revision ${base}`}>
      <p>Nothing is taken back yet: what revision {base} did has been changed since.</p>
      <Conflicts
        app={app} sides={{ ours: party('now', ours), theirs: party(`before ${base}`, theirs) }} base={`revision ${base}`}
        conflicts={conflicts} total={total}
        choices={choices} onChoose={(conflict, choice) => onChange((now) => choose(now, conflict, choice))}
        onAll={(prevails) => onChange(() => allAs(prevails, seen))}
      />
      <p class="actions sticky">
        {isOld
          ? <button type="button" class="main" onClick={onAgain}>Look again</button>
          : <button type="button" class="main" disabled={open > 0} onClick={onDo}>Take back revision {base}</button>}
        {isOld && <span class="wrong" role="alert">Nothing was taken back: {branch} has changed since, or the server was started again.</span>}
        <StillOpen many={isOld ? 0 : open} />
      </p>
    </section>
  )
}
