/** One port for all workers of a cluster: one worker owns it, and asks the others for their figures. */
import type { Server } from 'node:net'
import { type Address, holdPort } from './held-port.ts'
import { printsForCluster } from '../loaded.ts'
import { type Parts, Workers } from './workers.ts'

export interface ClusterPort extends Omit<Parts, 'holds' | 'alone'> {
  /** Has the same value in processes that belong together. */
  readonly name: string
  readonly server: Server
  readonly address: Address
  readonly warn: (text: string) => void
  /** How the warnings begin: `alone` if the owner cannot ask the others, `none` if no worker can open the port. */
  readonly says: { readonly alone: string; readonly none: string }
}

export function clusterPort({ name, server, address, warn, says, ...parts }: ClusterPort): Workers {
  let alone: unknown
  // Only the owner of the port warns, because one warning is enough.
  const tellAlone = (): void => {
    if (alone === undefined || !server.listening) return
    warn(`${says.alone}: it cannot ask the other workers. ${String(alone)}`)
  }
  const workers = new Workers(name, {
    ...parts,
    holds: () => server.listening,
    alone: why => {
      alone = why
      tellAlone()
    },
  })
  server.on('listening', tellAlone)
  let told = false
  let timesNoneHadIt = 0
  const complain = async (why: string, isTaken: boolean): Promise<void> => {
    if (told || !printsForCluster()) return
    if (isTaken) {
      timesNoneHadIt = (await workers.mayBeHeld()) ? 0 : timesNoneHadIt + 1
      // The owner may just have ended. Then the next attempt finds the port free, or owned by another worker.
      if (timesNoneHadIt < (workers.haveMet ? 2 : 1)) return
    }
    told = true
    warn(`${says.none}. ${why}`)
  }
  holdPort(server, address, (why, isTaken) => {
    complain(why, isTaken).catch(() => undefined)
  })
  return workers
}
