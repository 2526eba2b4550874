/** Watches an app under load: memory, CPU, whether it died, and how much of its core other processes used. */
import { performance } from 'node:perf_hooks'
import type { App } from '../launch/command.ts'
import type { SpeedWatch } from '../launch/core-speed.ts'
import { busyShare, readCores } from '../processes/core-times.ts'
import { type Watched, watch } from '../processes/watch-usage.ts'
import type { Window } from './measured.ts'

export interface UnderLoad<T> {
  readonly outcome: T
  readonly watched: Watched
  /** Set if the process ended by itself. */
  readonly died: { readonly afterMs: number; readonly how: string } | null
  /** Share (0..1) of the server's core that other processes used; null if unknown. */
  readonly foreign: number | null
  /** Mean speed of the server's core in these seconds of the load; null if unknown. */
  readonly coreSpeed: (seconds: Window) => number | null
}

export interface ServerCore {
  /** Undefined if the app has no dedicated core. */
  readonly core: number | undefined
  readonly speed: SpeedWatch
}

export async function underLoad<T>(
  app: App,
  { core, speed }: ServerCore,
  load: () => Promise<T>,
): Promise<UnderLoad<T>> {
  const before = await readCores()
  const watching = watch(app.pid)
  const startedMs = performance.now()
  let died: UnderLoad<T>['died'] = null
  let loading = true
  void app.exited.then(how => {
    if (loading) died = { afterMs: Math.round(performance.now() - startedMs), how }
  })
  try {
    const outcome = await load()
    const after = await readCores()
    const watched = await watching.stop()
    const known = before !== undefined && after !== undefined && core !== undefined
    const foreign = known ? Math.max(0, busyShare(before, after, core) - watched.cpuMs / watched.watchedMs) : null
    const coreSpeed = ({ from, to }: Window) => speed.between(startedMs + 1000 * from, startedMs + 1000 * to)
    return { outcome, watched, died, foreign, coreSpeed }
  } finally {
    loading = false
    await watching.stop()
  }
}
