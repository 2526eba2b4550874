/** How a history's clients are wrapped: not at all, bounded, or (to test the check) bounded wrongly. */
import { within } from '../../../src/deadline/index.ts'
import type { Departures } from './departures.ts'
import type { Ending } from './ending.ts'
import { PATIENCE_MS } from './patience.ts'

export interface Arm {
  readonly name: string
  /** How long all users may make no progress, and how long a checkout or the end of a pool may take, ms. */
  readonly patienceMs: number
  bind<Client extends object>(client: Client): Client
  /** `within` of meltproof/deadline, or a function that only calls its callback. */
  readonly within: typeof within
  /** Calls `work` with its ending, and settles when `work` itself has settled, however early its time ended. */
  inTime<T>(ending: Ending, work: () => Promise<T>): Promise<T | undefined>
}

export function boundArm(
  name: string,
  bind: Arm['bind'],
  departures: Departures,
  patienceMs: number = PATIENCE_MS,
): Arm {
  return {
    name,
    patienceMs,
    bind,
    within,
    async inTime(ending, work) {
      if (ending.by === 'client' || ending.by === 'request deadline') return departures.serve(ending, work)
      let worked: Promise<unknown> | undefined
      const started = (): Promise<unknown> => {
        worked = work()
        return worked
      }
      const controller = new AbortController()
      const timer =
        ending.by === 'abort'
          ? setTimeout(() => controller.abort(new Error('the user has left')), ending.afterMs)
          : undefined
      const ms = ending.by === 'deadline' ? ending.afterMs : Number.POSITIVE_INFINITY
      if (ending.by === 'nothing') await started().catch(() => {})
      else await within(ms, started, { signal: controller.signal }).catch(() => {})
      clearTimeout(timer)
      return (await worked) as never
    },
  }
}

/** Ignores deadlines. Clients of an unprotected server still leave. */
export function bareArm(departures: Departures): Arm {
  return {
    name: 'bare',
    patienceMs: PATIENCE_MS,
    bind: client => client,
    within: async (_ms, fn) => fn(new AbortController().signal),
    async inTime(ending, work) {
      return ending.by === 'client' ? departures.serve(ending, work) : work()
    },
  }
}
