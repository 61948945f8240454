import type { ComponentType } from 'preact'
import { useEffect } from 'preact/hooks'
import { BranchesPanel } from '../panels/Branches.tsx'
import { ChangesPanel } from '../panels/Changes.tsx'
import { GraphPanel } from '../panels/Graph.tsx'
import { HistoryPanel } from '../panels/History.tsx'
import { MergePanel } from '../panels/Merge.tsx'
import { NodePanel } from '../panels/Node.tsx'
import { NodeDialogs } from '../panels/NodeDialogs.tsx'
import { SearchPanel } from '../panels/Search.tsx'
import type { Node } from '../api/types.ts'
import { VIEWS, type View } from '../model/address.ts'
import type { App } from '../state/app.ts'
import type { Session } from '../state/session.ts'
import { Link } from './Link.tsx'
import { Timeline } from './Timeline.tsx'
import { TreeView } from './TreeView.tsx'

export interface PanelProps {
  app: App
  session: Session
}

export interface NodeProps extends PanelProps {
  node: Node
}

const PANELS: Record<View, ComponentType<PanelProps>> = {
  node: NodePanel,
  graph: GraphPanel,
  changes: ChangesPanel,
  history: HistoryPanel,
  branches: BranchesPanel,
  merge: MergePanel,
  search: SearchPanel,
}

/** A tree: its time above, its nodes on the left, what one looks at on the right. */
export function Explorer({ app, session }: PanelProps) {
  const { view } = app
  const tabs = VIEWS.filter((one) => session.offers(one) && (one !== 'search' || view === 'search'))
  const Panel = PANELS[view]
  useEffect(() => {
    // On a phone the tabs are wider than the page.
    document.querySelector('.tabs [aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' })
  }, [view, app.pane])
  const toTree = () => {
    app.pane = 'tree'
    app.changed()
  }
  return (
    <>
      {session.isWhole && <Timeline app={app} session={session} />}
      <main class={`columns shows-${app.pane}`}>
        <TreeView app={app} session={session} />
        <section class="panel" aria-label={view}>
          <nav class="tabs" aria-label="views">
            <button type="button" class="plain to-tree" onClick={toTree}>‹ Tree</button>
            {tabs.map((one) => (
              <Link key={one} app={app} to={{ view: one }} isCurrent={one === view}>
                {one[0]!.toUpperCase() + one.slice(1)}
              </Link>
            ))}
          </nav>
          <div class="sheet">
            <Panel key={view} app={app} session={session} />
          </div>
        </section>
      </main>
      <NodeDialogs app={app} session={session} />
    </>
  )
}
