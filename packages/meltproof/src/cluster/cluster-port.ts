/** One port for all workers of a cluster: one worker owns it, and asks the others for their figures. */
import type { Server } from 'node:net'
import { type Address, holdPort } from './held-port.ts'
import { printsForCluster } from '../loaded.ts'
import { type Parts, Workers } from './workers.ts'

export interface ClusterPort extends Omit<Parts, 'holds' | 'onUnreachable'> {
  /** Has the same value in processes that belong together. */
  readonly name: string
  readonly server: Server
  readonly address: Address
  readonly warn: (text: string) => void
  /** How warnings begin. `unreachable`: the port's owner cannot ask the others; `none`: no worker can open it. */
  readonly warnings: { readonly unreachable: string; readonly none: string }
}

export function clusterPort({ name, server, address, warn, warnings, ...parts }: ClusterPort): Workers {
  let whyUnreachable: unknown
  // Only the owner of the port warns, because one warning is enough.
  const warnUnreachable = (): void => {
    if (whyUnreachable === undefined || !server.listening) return
    warn(`${warnings.unreachable}: it cannot ask the other workers. ${String(whyUnreachable)}`)
  }
  const workers = new Workers(name, {
    ...parts,
    holds: () => server.listening,
    onUnreachable: why => {
      whyUnreachable = why
      warnUnreachable()
    },
  })
  server.on('listening', warnUnreachable)
  let hasWarned = false
  let timesNoneHadIt = 0
  const complain = async (why: string, isTaken: boolean): Promise<void> => {
    if (hasWarned || !printsForCluster()) return
    if (isTaken) {
      timesNoneHadIt = (await workers.mayBeHeld()) ? 0 : timesNoneHadIt + 1
      // The owner may just have ended. Then the next attempt finds the port free, or owned by another worker.
      if (timesNoneHadIt < (workers.hasJoined ? 2 : 1)) return
    }
    hasWarned = true
    warn(`${warnings.none}. ${why}`)
  }
  holdPort(server, address, (why, isTaken) => {
    complain(why, isTaken).catch(() => undefined)
  })
  return workers
}
