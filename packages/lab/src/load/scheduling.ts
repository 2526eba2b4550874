/** Reads what the kernel's scheduler reports about this thread. Linux only; elsewhere nothing is known. */
import { openSync, readSync } from 'node:fs'

export interface Scheduling {
  /** Total time for which the thread was ready to run while another had the core, ms. */
  readonly delayMs: number
  readonly turns: number
}

export type ReadScheduling = () => Scheduling | undefined

/** Returns a function that reads the figures of the calling thread, which takes about 3 us. */
export const schedulingOfThisThread = (): ReadScheduling => {
  try {
    // Opening resolves the path, so the file stays that of this thread. Node closes it when the thread ends.
    const file = openSync('/proc/thread-self/schedstat', 'r')
    const buffer = Buffer.alloc(96)
    return () => {
      try {
        return parseSchedstat(buffer.toString('latin1', 0, readSync(file, buffer, 0, buffer.length, 0)))
      } catch {
        return undefined
      }
    }
  } catch {
    return () => undefined
  }
}

/** Parses `running-ns waiting-ns turns`; a kernel without these figures writes zeros. */
export const parseSchedstat = (text: string): Scheduling | undefined => {
  const [running, waiting, turns] = text.split(' ').map(Number)
  if (!(running! > 0) || !(waiting! >= 0) || !(turns! > 0)) return undefined
  return { delayMs: waiting! / 1e6, turns: turns! }
}
