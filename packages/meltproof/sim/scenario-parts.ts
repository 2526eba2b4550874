/** Parts for the sets of scenarios that were written independently of `scenarios.ts`. */
import { type Core, wholeCore } from './core.ts'
import type { Random } from './random.ts'
import type { Scenario } from './scenarios.ts'
import type { Step, Taken, Workload } from './workload.ts'

/** CPU of a served request in addition to its steps, and of a shed one, ms (service.ts). */
export const PARSE = 0.0356
export const SHED = 0.008

/** `ms` of CPU in equal slices. */
export const sliced = (ms: number, slices: number): Step[] =>
  Array.from({ length: 2 * slices - 1 }, (_, i): Step => (i % 2 === 0 ? { cpu: ms / slices } : 'yield'))

/**
 * Answers per second of a core when `rate` requests arrive, each answer burns `ms` and each shed `shedMs`, out of
 * `cpuMs` per second.
 */
export const coreDoes = (ms: number, rate: number, shedMs: number = SHED, cpuMs: number = 1000): number =>
  (cpuMs - rate * shedMs) / (ms - shedMs)

export const steady =
  (rate: number): ((nowMs: number) => number) =>
  () =>
    rate

/** Interpolates linearly from `from` at `fromMs` to `to` at `toMs`, and is constant before and after. */
export const between = (nowMs: number, fromMs: number, toMs: number, from: number, to: number): number =>
  from + (to - from) * Math.min(1, Math.max(0, (nowMs - fromMs) / (toMs - fromMs)))

/** Answers per second of a core for requests that burn `ms` in their handlers; see coreDoes. */
export const coreServes = (ms: number, rate: number, cpuMs?: number): number => coreDoes(ms + PARSE, rate, SHED, cpuMs)
export const uniform = (random: Random, from: number, to: number): number => from + (to - from) * random.next()

/**
 * Connections outside the simulator's pools. They serve first come, first served, and start a query at the time
 * that `usableFrom` returns, at the earliest. Use them from a `pool` step of an unlimited pool (`ROOM`).
 */
export class Connections {
  readonly #freeAt: Float64Array
  readonly #usableFrom: (connection: number, atMs: number) => number

  constructor(size: number, usableFrom: (connection: number, atMs: number) => number = (_, atMs) => atMs) {
    this.#freeAt = new Float64Array(size)
    this.#usableFrom = usableFrom
  }

  /** How long a query of `ms` takes that arrives at `nowMs`, including its wait for a connection. */
  query(nowMs: number, ms: number): Taken {
    let first = 0
    let startsAt = Number.POSITIVE_INFINITY
    let aloneAt = Number.POSITIVE_INFINITY
    for (const [connection, freeAt] of this.#freeAt.entries()) {
      const at = this.#usableFrom(connection, Math.max(nowMs, freeAt))
      aloneAt = Math.min(aloneAt, this.#usableFrom(connection, nowMs))
      if (at < startsAt) {
        first = connection
        startsAt = at
      }
    }
    this.#freeAt[first] = startsAt + ms
    return { takesMs: startsAt + ms - nowMs, ownMs: aloneAt + ms - nowMs }
  }

  reset(): void {
    this.#freeAt.fill(0)
  }
}
export const ROOM = 1_000_000
/** Resets these objects before each run: every run creates its core with the returned function. */
export const anew =
  (...all: { reset(): void }[]): (() => Core) =>
  () => {
    for (const each of all) each.reset()
    return wholeCore
  }

/** A kind of request with its own rate. */
export interface At {
  readonly perSecond: number
  readonly steps: (random: Random, nowMs: number) => Step[]
  readonly path?: () => string
  readonly client?: (random: Random) => number
}
export const kindsOf = (...all: At[]): Pick<Workload, 'rate' | 'steps' | 'kinds'> => {
  const sum = all.reduce((total, each) => total + each.perSecond, 0)
  return {
    rate: steady(sum),
    steps: all[0]!.steps,
    kinds: all.map(({ perSecond, ...kind }) => ({ ...kind, share: perSecond / sum })),
  }
}

/** A process that has just started (Workload.warmUp), and the CPU of a request once it is warm, ms. */
export interface Cold {
  readonly times: number
  readonly requests: number
  readonly ms: number
  readonly rate: number
}

/** Answers of a cold core that never rests, up to `untilMs`, while `rate` requests per second arrive. */
export const coldDone = (cold: Cold, untilMs: number): number => {
  const cpuMs = (n: number): number =>
    (cold.ms + PARSE - SHED) * n + cold.ms * (cold.times - 1) * cold.requests * (1 - Math.exp(-n / cold.requests))
  const spent = untilMs * (1 - (cold.rate * SHED) / 1000)
  let least = 0
  let most = spent
  for (let i = 0; i < 60; i++) {
    const middle = (least + most) / 2
    if (cpuMs(middle) < spent) least = middle
    else most = middle
  }
  return least
}

interface Draft {
  readonly workload: Workload
  readonly seconds: number
  readonly ideal?: (s: number) => number
  readonly changesAt?: readonly number[]
}

const draft = (name: string, noShed: boolean, { workload, seconds, ideal, changesAt = [0] }: Draft): Scenario => ({
  name,
  workload,
  seconds,
  changesAt,
  noShed,
  ideal: s => Math.min(workload.rate(s * 1000 + 500), ideal?.(s) ?? Number.POSITIVE_INFINITY),
})

/** Demand exceeds capacity, so goodput counts. */
export const overload = (name: string, rest: Draft & { readonly ideal: (s: number) => number }): Scenario =>
  draft(name, false, rest)

/** Capacity suffices, so no request may be shed. */
export const ample = (name: string, rest: Draft): Scenario => draft(name, true, rest)
