import type * as api from '../api/client.ts'
import type { Change, Conflict, Side } from '../api/types.ts'
import { type Choice, choiceOf, type Choices, isWriting, placeOf } from '../model/conflicts.ts'
import { count } from '../model/value.ts'
import type { App } from '../state/app.ts'
import { PathLink } from './Link.tsx'
import { AttributeName, ValueText } from './Value.tsx'
import { WholeEditor } from './WholeEditor.tsx'

/** A version in a conflict, as a person is told of it. */
export interface Party {
  name: string
  /** What the button says that gives it all of them. */
  all: string
  /** Where all of its values are. */
  version: api.Version
}

interface Shared {
  app: App
  sides: Record<Side, Party>
  /** What the version is called that both sides have changed. */
  base: string
}

interface Props extends Shared {
  /** The first of them. */
  conflicts: readonly Conflict[]
  total: number
  choices: Choices
  onChoose: (conflict: Conflict, choice: Choice) => void
  onAll: (side: Side) => void
}

/** What cannot be as both sides have it, with a choice each. */
export function Conflicts({ conflicts, total, choices, onChoose, onAll, ...shared }: Props) {
  const { ours, theirs } = shared.sides
  return (
    <>
      <h2>{count(total)} {total === 1 ? 'conflict' : 'conflicts'}</h2>
      {total > 1 && (
        <p class="actions">
          <button type="button" onClick={() => onAll('ours')}>{ours.all}</button>
          <button type="button" onClick={() => onAll('theirs')}>{theirs.all}</button>
        </p>
      )}
      {total > conflicts.length && <p class="quiet">The first {count(conflicts.length)} are shown. The others can be settled as in one of the two.</p>}
      {conflicts.map((one) => (
        <ConflictCard key={placeOf(one)} {...shared} conflict={one} choice={choiceOf(choices, one)} onChoose={(choice) => onChoose(one, choice)} />
      ))}
    </>
  )
}

interface CardProps extends Shared {
  conflict: Conflict
  choice: Choice | undefined
  onChoose: (choice: Choice) => void
}

function ConflictCard({ app, sides, base, conflict, choice, onChoose }: CardProps) {
  const { path, attribute } = conflict
  const writing = choice && isWriting(choice) ? choice : undefined
  const made = choice && !isWriting(choice) ? choice : undefined
  const isKept = made !== undefined && 'value' in made
  const isOwn = writing !== undefined || isKept
  // What another value begins with, and where all of it is: the beginning only is told with a conflict.
  const begun: Side = conflict.ours.value ? 'ours' : 'theirs'
  const put = conflict[begun]
  const name = placeOf(conflict)
  const side = (take: Side) => (
    <label class="side">
      <input type="radio" name={name} checked={made !== undefined && 'take' in made && made.take === take} onChange={() => onChoose({ take })} />
      <span class="whose">{sides[take].name}</span>
      <Did change={conflict[take]} />
    </label>
  )
  return (
    <fieldset class={made ? 'conflict settled' : 'conflict'}>
      <legend><PathLink app={app} path={path} />{attribute !== undefined && <> · <strong><AttributeName name={attribute} /></strong></>} <span class="kind">{conflict.kind}</span></legend>
      {conflict.base && <p class="side base"><span class="whose">{base}</span><ValueText value={conflict.base} /></p>}
      {side('ours')}
      {side('theirs')}
      {attribute !== undefined && (
        <label class="side">
          <input type="radio" name={name} checked={isOwn} onChange={() => onChoose({ writing: undefined })} />
          <span class="whose">another</span>
          {isOwn && (
            <WholeEditor
              app={app} version={sides[begun].version} path={put.path} attribute={attribute} value={isKept ? made.value : (put.value ?? { type: 'text', value: '' })}
              label={`${path} ${attribute}`} keep={isKept ? 'Kept' : 'Take this'} onKeep={(value) => onChoose({ value })}
              typed={writing?.writing} isFocused={writing !== undefined && writing.writing === undefined} onWrite={(typed) => onChoose({ writing: typed })}
            />
          )}
        </label>
      )}
    </fieldset>
  )
}

/** What a side did, in words. */
function Did({ change }: { change: Change }) {
  const { op, path, from, value, nodes } = change
  switch (op) {
    case 'put':
      return value ? <ValueText value={value} /> : null
    case 'unset':
      return <em>removed it</em>
    case 'remove':
      return <em>deleted {path}{nodes && nodes > 1 ? ` with ${count(nodes)} nodes` : ''}</em>
    case 'move':
      return <em>moved {from} to {path}</em>
    case 'add':
      return <em>added {path}</em>
    case 'set':
      return <em>replaced {path}</em>
  }
}

/** How many are not settled, in words; to who is read to each time there are others. */
export function StillOpen({ many }: { many: number }) {
  return <span class="quiet" role="status">{many > 0 && `${count(many)} ${many === 1 ? 'conflict is' : 'conflicts are'} not settled`}</span>
}
