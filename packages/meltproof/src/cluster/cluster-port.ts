/** One port for all workers of a cluster: one of them has it, and knows what the others say. */
import type { Server } from 'node:net'
import { type Address, holdPort } from './held-port.ts'
import { type Parts, Workers } from './workers.ts'

export interface ClusterPort extends Omit<Parts, 'holds' | 'alone'> {
  /** The same for those that belong together. */
  readonly name: string
  readonly server: Server
  readonly address: Address
  readonly warn: (text: string) => void
  /** What a warning begins with: for a worker that has the port and can not ask the others, and where none can have it. */
  readonly says: { readonly alone: string; readonly none: string }
}

export function clusterPort({ name, server, address, warn, says, ...parts }: ClusterPort): Workers {
  let alone: unknown
  // One of them is enough to tell.
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
    if (told) return
    if (isTaken) {
      timesNoneHadIt = (await workers.mayBeHeld()) ? 0 : timesNoneHadIt + 1
      // Whichever of us had it may have ended a moment ago. Then the next try finds it free, or with another one.
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
