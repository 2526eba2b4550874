/**
 * A recording of a real run, as bench/record.ts writes it to recorded/: the arrivals, the real cost of each served
 * request in order of their starts (which includes the compiler's warm-up), the pauses of the loop, and the results
 * that clients saw. Numbers are packed in base 36, in units of {@link UNIT_MS}, to keep the files small.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The resolution of recorded times. */
export const UNIT_MS = 0.01

export interface Recording {
  readonly name: string
  readonly recordedAt: string
  readonly node: string
  readonly cpu: string
  readonly commit: string
  /** Answers per second of the bare app. */
  readonly capacity: number
  readonly seconds: number
  /** CPU of one shed on that machine, ms. */
  readonly shedMs: number
  /** Connections of the pool, if there is one. */
  readonly poolSize?: number
  /** Gaps between arrivals, by kind. */
  readonly arrivals: readonly string[]
  readonly runs: Readonly<Record<RunName, RecordedRun>>
}

/** `fixed` had a given limit, so that changes to the limiter do not affect it. */
export type RunName = 'fixed' | 'learned'

export interface RecordedRun {
  /** Absent when the limit was learned. */
  readonly limit?: number
  readonly offered: number
  /** Answered within a second. */
  readonly good: number
  readonly shed: number
  /** Latencies of answered requests. */
  readonly answeredMs: { readonly p50: number; readonly p99: number }
  /** By second of arrival. */
  readonly perSecond: {
    readonly offered: readonly number[]
    readonly good: readonly number[]
    readonly shed: readonly number[]
  }
  /** The steps of each request that started, in order of their starts, by kind; see {@link packSteps}. */
  readonly costs: readonly string[]
  /** Pauses for garbage collection: the gap since the previous one began, and the length. */
  readonly garbage: string
  /** When other processes had the core, in the same form. */
  readonly stolen: string
}

/** One step of a recorded request: CPU, CPU in a later turn of the loop, or a place held in the pool. */
export type RecordedStep = readonly ['cpu' | 'next turn' | 'pool', number]

const MARK = { cpu: '+', 'next turn': '/', pool: '~' } as const

/** `+5/2s/2s`: CPU, and CPU again in each of the next two turns. `~` is a place in the pool. */
export function packSteps(steps: readonly RecordedStep[]): string {
  return steps.map(([kind, ms]) => MARK[kind] + packMs(ms)).join('')
}

export function unpackSteps(packed: string): RecordedStep[] {
  return [...packed.matchAll(/([+/~])([0-9a-z]+)/g)].map(([, mark, ms]) => [
    mark === MARK.cpu ? 'cpu' : mark === MARK.pool ? 'pool' : 'next turn',
    unpackMs(ms!),
  ])
}

export function packNumbers(ms: readonly number[]): string {
  return ms.map(packMs).join(' ')
}

export function unpackNumbers(packed: string): number[] {
  return packed === '' ? [] : packed.split(' ').map(unpackMs)
}

/** Packs ordered times as gaps. The next gap corrects the rounding of the one before. */
export function packTimes(times: readonly number[]): string {
  let at = 0
  const gaps = times.map(time => {
    const gap = Math.max(0, Math.round((time - at) / UNIT_MS))
    at += gap * UNIT_MS
    return gap.toString(36)
  })
  return gaps.join(' ')
}

export function unpackTimes(packed: string): number[] {
  let at = 0
  return unpackNumbers(packed).map(gap => (at += gap))
}

/** Packs the start and the length of each pause. */
export function packPauses(pauses: readonly (readonly [atMs: number, forMs: number])[]): string {
  let at = 0
  return packNumbers(
    pauses.flatMap(([atMs, forMs]) => {
      const gap = Math.max(0, Math.round((atMs - at) / UNIT_MS) * UNIT_MS)
      at += gap
      return [gap, forMs]
    }),
  )
}

export function unpackPauses(packed: string): [atMs: number, forMs: number][] {
  const numbers = unpackNumbers(packed)
  let at = 0
  return Array.from({ length: numbers.length / 2 }, (_, i) => {
    at += numbers[2 * i]!
    return [at, numbers[2 * i + 1]!]
  })
}

function packMs(ms: number): string {
  return Math.max(0, Math.round(ms / UNIT_MS)).toString(36)
}

function unpackMs(packed: string): number {
  return Number.parseInt(packed, 36) * UNIT_MS
}

const FOLDER = join(import.meta.dirname, 'recorded')

export function recordingFile(name: string): string {
  return join(FOLDER, `${name}.json`)
}

/** Reads all recordings. */
export function recordings(): Recording[] {
  return readdirSync(FOLDER)
    .filter(file => file.endsWith('.json'))
    .sort()
    .map(file => JSON.parse(readFileSync(join(FOLDER, file), 'utf8')) as Recording)
}
