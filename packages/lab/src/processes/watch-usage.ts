/** Samples memory and CPU of a process and its descendants at an even interval. */
import { performance } from 'node:perf_hooks'
import { every } from './every.ts'
import { type Usage, usage } from './process-tree.ts'

export interface WatchSample extends Usage {
  readonly atMs: number
}

export interface Watched {
  readonly samples: readonly WatchSample[]
  readonly peakRssBytes: number
  /** CPU time of the process while it was watched, ms. */
  readonly cpuMs: number
  readonly watchedMs: number
}

export interface Watch {
  /** Takes a last sample and ends the watch. */
  stop(): Promise<Watched>
}

/** Four readings per second make a smooth line, and each costs about 1 ms. */
const INTERVAL_MS = 250

/** Tests replace `read`. */
export function watch(pid: number, read: typeof usage = usage): Watch {
  const startedMs = performance.now()
  const samples: WatchSample[] = []

  async function sample(): Promise<void> {
    const atMs = performance.now() - startedMs
    const now = await read(pid)
    // Readings after the end of the process are zero, so they are left out.
    if (now.rssBytes > 0) samples.push({ atMs, ...now })
  }

  const sampling = every(INTERVAL_MS, sample)
  return {
    async stop() {
      await sampling.stop()
      await sample()
      return summarise(samples, performance.now() - startedMs)
    },
  }
}

/**
 * The sum loses the CPU time of an ended process for which no process of the tree waited, so the highest reading counts,
 * not the last. Pure.
 */
export function summarise(samples: readonly WatchSample[], watchedMs: number): Watched {
  const first = samples[0]?.cpuMs ?? 0
  const highest = samples.reduce((most, sample) => Math.max(most, sample.cpuMs), first)
  return {
    samples,
    peakRssBytes: samples.reduce((most, sample) => Math.max(most, sample.rssBytes), 0),
    cpuMs: highest - first,
    watchedMs,
  }
}
