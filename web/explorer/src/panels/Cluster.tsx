import { useEffect, useState } from 'preact/hooks'
import * as api from '../api/client.ts'
import type { Cluster as Told, Elsewhere } from '../api/types.ts'
import { HOME, writeAddress } from '../model/address.ts'
import { besides, kept, state, synced } from '../model/cluster.ts'
import { count, size } from '../model/value.ts'

/** How often the servers are asked, in milliseconds. */
const AGAIN = 3_000

/** The servers that have the same trees, and the log that makes them agree; nothing where one is alone. */
export function Cluster() {
  const { told, isAway } = useCluster()
  if (!told?.log) return null
  const { log, servers } = told
  const sync = synced(log)
  return (
    <section class="cluster" aria-label="Servers">
      <h2>Servers</h2>
      {isAway && (
        <p class="warning" role="status">
          The log does not answer. What is here can be read; what is changed waits until it does.
        </p>
      )}
      <table class="trees">
        <thead>
          <tr><th>name</th><th class="number">revision</th><th class="number wide">message</th><th class="wide">role</th><th>state</th><th>hash</th></tr>
        </thead>
        <tbody>
          {servers.map((server) => (
            <tr key={server.server} class={server.fault === null ? '' : 'bad'}>
              <td><Name {...server} /></td>
              <td class="number">{server.revision}</td>
              <td class="number wide">{server.followed}</td>
              <td class="wide">{server.role}</td>
              <td>
                {state(server, log)}
                {besides(server, Date.now()).map(({ text, isBad }) => <small key={text} class={isBad ? 'warning' : ''}>{text}</small>)}
              </td>
              <td class="quiet"><code>{server.hash?.slice(0, 12)}</code></td>
            </tr>
          ))}
        </tbody>
      </table>
      <p class="quiet">
        The log <code>{log.stream}</code> has {count(log.last + 1 - log.first)} messages in {size(log.bytes)}
        {log.leader !== null && <>, led by {log.leader}</>}
        {log.replicas.map((replica) => `, ${replica.name} ${kept(replica)}`)}.{' '}
        <span class={sync.isBad ? 'warning' : ''}>{sync.text}</span>{' '}
        At the same message all servers have the same hash.
      </p>
      {told.elsewhere.length > 0 && <Others servers={told.elsewhere} />}
    </section>
  )
}

/** Trees that are not here: those of other clusters of the engine, one server of each with its trees. */
function Others({ servers }: { servers: Elsewhere[] }) {
  const clusters = [...new Set(servers.map((server) => server.cluster))]
  return (
    <>
      <h2>Other clusters</h2>
      <table class="trees">
        <thead>
          <tr><th>name</th><th>servers</th><th>trees</th></tr>
        </thead>
        <tbody>
          {clusters.map((cluster) => {
            const own = servers.filter((server) => server.cluster === cluster)
            const at = own.find((server) => isLink(server.address)) ?? own[0]
            return (
              <tr key={cluster}>
                <td>{cluster}</td>
                <td>{own.map((server, index) => <>{index > 0 && ', '}<Name {...server} /></>)}</td>
                <td>{at?.trees.map((tree, index) => <>{index > 0 && ', '}<Tree at={at} tree={tree} /></>)}{at?.more && ' …'}</td>
              </tr>
            )
          })}
        </tbody>
      </table>
    </>
  )
}

function Name({ server, address }: { server: string; address: string | null }) {
  return isLink(address) ? <a href={`${address}/explorer/`}>{server}</a> : <>{server}</>
}

function Tree({ at, tree }: { at: Elsewhere; tree: string }) {
  return isLink(at.address) ? <a href={`${at.address}/explorer/${writeAddress({ ...HOME, tree })}`}>{tree}</a> : <>{tree}</>
}

/** What was told last, and whether nobody answers now. */
function useCluster(): { told: Told | undefined; isAway: boolean } {
  const [told, setTold] = useState<Told>()
  const [isAway, setAway] = useState(false)
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    let isGone = false
    const look = async () => {
      // Those who may not see it see nothing; what does not answer now may do so later.
      const found = await api.cluster().catch((problem: api.Problem) => (problem.status === 403 ? null : undefined))
      if (isGone) return
      if (found) setTold(found)
      setAway(found === undefined)
      if (found === undefined || found?.log) timer = setTimeout(look, AGAIN)
    }
    void look()
    return () => {
      isGone = true
      clearTimeout(timer)
    }
  }, [])
  return { told, isAway }
}

/** Servers say themselves where they are. */
function isLink(address: string | null): boolean {
  return address !== null && /^https?:\/\//.test(address)
}
