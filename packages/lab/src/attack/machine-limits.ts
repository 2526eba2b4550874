/** Rejects a plan that exceeds the limits of this machine before the load starts, instead of reporting a failed run. */
import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import type { LoadPlan } from '../load/plan.ts'
import { highestRate } from '../load/schedule.ts'
import { formatCount } from '../report/format.ts'
import { UserError } from '../user-error.ts'
import { plural } from '../words.ts'

/** No core sends this many requests per second. Measured: 193,000/s of the smallest requests, without a schedule. */
const MOST_PER_CORE = 250_000
/** Approximate number of files that Node and the lab have open anyway. */
const OTHER_FILES = 50

export interface Machine {
  readonly cores: number
  /** Infinity where the limit is unknown. */
  readonly openFiles: number
  readonly localPorts: number
}

export function refuseImpossible({ arrival, connections, threads }: LoadPlan, servers: number, machine: Machine): void {
  if (arrival.kind === 'open') {
    const rate = highestRate(arrival.schedule)
    const cores = Math.min(threads, machine.cores)
    if (rate > cores * MOST_PER_CORE) {
      throw new UserError(
        `${formatCount(rate)}/s cannot be sent from here: a core sends at most ${formatCount(MOST_PER_CORE)}/s, ` +
          `and meltlab has ${cores} (${machine.cores} in the machine, ${plural(threads, 'thread')}).`,
      )
    }
  }
  const standing = connections.kind === 'fresh' ? 0 : connections.count
  if (standing > machine.openFiles - OTHER_FILES) {
    throw new UserError(
      `${formatCount(standing)} connections exceed the ${formatCount(machine.openFiles)} files that this process may open: raise ulimit -n, or use fewer.`,
    )
  }
  if (standing > machine.localPorts * servers) {
    throw new UserError(
      `${formatCount(standing)} connections exceed the local ports of this machine: ${formatCount(machine.localPorts)} to each server.`,
    )
  }
}

export function thisMachine(): Machine {
  const openFiles = /^Max open files\s+(\d+)/m.exec(contentOf('/proc/self/limits'))?.[1]
  const [first, last] = contentOf('/proc/sys/net/ipv4/ip_local_port_range').trim().split(/\s+/).map(Number)
  return {
    cores: availableParallelism(),
    openFiles: Number(openFiles ?? Number.POSITIVE_INFINITY),
    localPorts: last === undefined ? Number.POSITIVE_INFINITY : last - first! + 1,
  }
}

/** Returns an empty text if the file cannot be read, as on systems other than Linux. */
function contentOf(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
