/** What the kernel's scheduler says of this thread. Linux only: elsewhere it says nothing. */
import { openSync, readSync } from 'node:fs'

export interface Scheduling {
  /** How long the thread was ready to run while another had the core, in all; ms. */
  readonly delayMs: number
  /** How often it was given a core. */
  readonly turns: number
}

export type ReadScheduling = () => Scheduling | undefined

let opened: ReadScheduling | undefined

/** Reads it for the thread that calls this; a reading takes about 3 us. */
export const schedulingOfThisThread = (): ReadScheduling => (opened ??= open())

const open = (): ReadScheduling => {
  try {
    // Resolved when opened, so the file remains that of this thread; it is closed when the thread ends.
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

/** `running-ns waiting-ns turns`; a kernel without these figures writes zeros. */
export const parseSchedstat = (text: string): Scheduling | undefined => {
  const [running, waiting, turns] = text.split(' ').map(Number)
  if (!(running! > 0) || !(waiting! >= 0) || !(turns! > 0)) return undefined
  return { delayMs: waiting! / 1e6, turns: turns! }
}
