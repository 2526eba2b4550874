/**
 * Watches one process and its descendants while something else happens: memory and CPU at an even interval. Knows
 * nothing of load or of what the process does.
 */
import { performance } from 'node:perf_hooks'
import { every } from './every.ts'
import { type Usage, usage } from './process-tree.ts'

export interface WatchSample extends Usage {
  /** Since the watch started. */
  readonly atMs: number
}

export interface Watched {
  readonly samples: readonly WatchSample[]
  readonly peakRssBytes: number
  /** CPU the process used while it was watched, milliseconds. */
  readonly cpuMs: number
  readonly watchedMs: number
}

export interface Watch {
  /** Takes a last sample and ends the watch. */
  stop(): Promise<Watched>
}

export interface WatchOptions {
  /** @default 250: four readings a second draw a smooth line, and a reading of a few /proc files costs about 1 ms */
  readonly intervalMs?: number
  /** Reads the process; another one in tests. */
  readonly read?: (pid: number) => Promise<Usage>
}

export function watch(pid: number, options: WatchOptions = {}): Watch {
  const { intervalMs = 250, read = usage } = options
  const startedMs = performance.now()
  const samples: WatchSample[] = []

  async function sample(): Promise<void> {
    const atMs = performance.now() - startedMs
    const now = await read(pid)
    // A process that has ended reads as zero; its last sample before that counts.
    if (now.rssBytes > 0) samples.push({ atMs, ...now })
  }

  const sampling = every(intervalMs, sample)
  return {
    async stop() {
      await sampling.stop()
      await sample()
      return summarise(samples, performance.now() - startedMs)
    },
  }
}

/** Pure. A child that ends takes its CPU out of the tree's sum, so the highest reading counts, not the last. */
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
