/**
 * Watches the speed of a core. A core of a shared machine may lose a third of its speed for some seconds, which neither
 * CPU time nor steal shows.
 */
import { spawn } from 'node:child_process'
import path from 'node:path'
import { performance } from 'node:perf_hooks'
import { createInterface } from 'node:readline'
import { sumOf } from '../load/added.ts'
import { pinned } from './core-pinning.ts'

export interface SpeedSample {
  /** On the clock of `performance.now()`. */
  readonly atMs: number
  /** Work per ms of CPU time, in an arbitrary unit. */
  readonly speed: number
}

export interface SpeedWatch {
  /** The mean speed from `fromMs` to `toMs`; null if it was not measured then. */
  between(fromMs: number, toMs: number): number | null
  stop(): void
}

const probe = path.join(import.meta.dirname, `core-speed-probe${path.extname(import.meta.filename)}`)

/**
 * Without a dedicated core, no speed is measured. The watch costs about 0.3 % of the core.
 * `onLost` is called if the watch ends before `stop`: no further speed is known then.
 */
export function watchSpeed(core: number | undefined, onLost: () => void = () => {}): SpeedWatch {
  if (core === undefined) return { between: () => null, stop() {} }
  const samples: SpeedSample[] = []
  const [program, ...args] = pinned([process.execPath, '--no-warnings', probe], core)
  const child = spawn(program!, args, {
    stdio: ['ignore', 'pipe', 'ignore'],
    env: { ...process.env, NODE_OPTIONS: '' },
  })
  child.on('error', onLost)
  child.on('exit', onLost)
  child.unref()
  createInterface(child.stdout).on('line', line => samples.push({ atMs: performance.now(), speed: Number(line) }))
  return {
    between: (fromMs, toMs) => meanSpeed(samples, fromMs, toMs),
    stop() {
      child.off('exit', onLost)
      child.kill('SIGKILL')
    },
  }
}

/** Pure. */
export function meanSpeed(samples: readonly SpeedSample[], fromMs: number, toMs: number): number | null {
  const those = samples.filter(({ atMs }) => atMs >= fromMs && atMs < toMs)
  return those.length === 0 ? null : sumOf(those, ({ speed }) => speed) / those.length
}
