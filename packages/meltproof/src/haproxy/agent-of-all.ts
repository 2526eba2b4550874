/**
 * MELTPROOF_HAPROXY_AGENT: one agent for all servers of the process and all workers of its cluster, because HAProxy
 * sees them as one server. The agent sends one number for all.
 */
import { clusterPort } from '../cluster/cluster-port.ts'
import { AllGuards } from '../cluster/all-guards.ts'
import type { Address } from '../cluster/held-port.ts'
import type { Guard } from '../server/guard.ts'
import { flushDelayed } from '../server/operate/held-answers-of.ts'
import { AgentServer } from './agent-server.ts'

/** @param guards the guards of the servers that listen now */
export function serveAgent(address: Address, guards: () => readonly Guard[], warn: (text: string) => void): void {
  const all = new AllGuards(guards)
  const flushAllDelayed = (): void => {
    for (const guard of guards()) flushDelayed(guard)
  }
  const { server } = new AgentServer(async () => {
    const { ready, stats } = await workers.together()
    // The app accepts requests while one of its workers does.
    return ready && stats !== undefined ? { ...stats, draining: false } : undefined
  }, flushAllDelayed)
  const workers = clusterPort({
    name: `haproxy ${address.host} ${address.port}`,
    server,
    address,
    warn,
    warnings: {
      unreachable: "answers HAProxy's agent checks with the figures of this worker only",
      none: "cannot answer HAProxy's agent checks",
    },
    all,
    families: [],
    explain: () => [],
    ready: () => {
      // The owner of the port asks this worker whenever HAProxy asks. Delayed 503s would occupy slots of HAProxy, so
      // they are sent now.
      if (!server.listening) flushAllDelayed()
      return guards().length > 0 && !all.stats().draining
    },
  })
}
