/** Parts for the sets of mixes on one path (`mixed.ts`, `mixed-held-out.ts`). */
import type { Random } from './random.ts'
import { PARSE, SHED, sliced } from './scenario-parts.ts'
import type { Scenario } from './scenarios.ts'
import type { Kind, Step, Workload } from './workload.ts'

/** One operation of a path: its rate and its work. */
export interface Operation {
  readonly perSecond: number | ((nowMs: number) => number)
  readonly steps: (random: Random, nowMs: number) => readonly Step[]
  readonly client?: (random: Random) => number
}

const rateOf = ({ perSecond }: Operation, nowMs: number): number =>
  typeof perSecond === 'number' ? perSecond : perSecond(nowMs)

/** Puts all operations on one path and route, so that admission cannot tell them apart before they are served. */
export function onePath(path: string, ...operations: Operation[]): Pick<Workload, 'rate' | 'steps' | 'kinds'> {
  const rate = (nowMs: number): number => operations.reduce((sum, each) => sum + rateOf(each, nowMs), 0)
  const share = (each: Operation) => (nowMs: number) => rateOf(each, nowMs) / Math.max(rate(nowMs), 1e-9)
  return {
    rate,
    steps: operations[0]!.steps,
    kinds: operations.map(
      ({ steps, client, ...each }): Kind => ({
        share: share({ steps, ...each }),
        steps,
        path: () => path,
        route: 0,
        ...(client === undefined ? {} : { client }),
      }),
    ),
  }
}

/** Burns `ms` of CPU, at most 5 ms at a time. */
export const burns = (ms: number): Step[] => (ms > 5 ? sliced(ms, Math.ceil(ms / 5)) : [{ cpu: ms }])
/** Waits for something with unlimited capacity. */
export const awaits = (ms: number): Step[] => [{ cpu: 0.15 }, { wait: ms }, { cpu: 0.1 }]
/** Holds a place of a named pool for `ms`. */
export const holds = (of: string, ms: number | ((nowMs: number) => number)): Step[] => [
  { cpu: 0.1 },
  { pool: ms, of },
  { cpu: 0.1 },
]
/** CPU of `holds`, ms. */
export const HOLDS_CPU = 0.2
/** Answers with a status after `ms` of CPU. */
export const refused = (status: number, ms = 0.1): Step[] => [{ cpu: ms }, { status }]

export function normal(random: Random): number {
  return Math.sqrt(-2 * Math.log(1 - random.next())) * Math.cos(2 * Math.PI * random.next())
}
export const lognormal = (random: Random, median: number, sigma: number): number =>
  median * Math.exp(sigma * normal(random))

/** Draws from a Pareto distribution between two bounds. */
export function pareto(random: Random, least: number, most: number, tail: number): number {
  const u = random.next()
  return least / (1 - u * (1 - (least / most) ** tail)) ** (1 / tail)
}
export const paretoMean = (least: number, most: number, tail: number): number =>
  ((least ** tail * tail) / ((1 - (least / most) ** tail) * (tail - 1))) * (least ** (1 - tail) - most ** (1 - tail))

/** A part of the load: its rate, its use of the scarce resource, and whether it can be in time. */
export interface Part {
  readonly rate: number
  /** Use of the scarce resource, ms. For a core, the CPU of the handler. */
  readonly ms: number
  /** The share of its answers that can be goodput. @default 1 */
  readonly good?: number
}

/**
 * Uniform admission: a share p of all requests, equal for every operation, because nothing tells them apart. Returns
 * its answers in time per second when `places` of something are scarce.
 */
export function uniformly(places: number, parts: readonly Part[]): number {
  const needed = parts.reduce((sum, { rate, ms }) => sum + rate * ms, 0)
  return Math.min(1, (places * 1000) / needed) * goodOf(parts)
}

/**
 * Uniform admission when a core with `cpuMs` per second is scarce. Each served request also costs PARSE, and each shed
 * costs SHED.
 */
export function uniformlyOfCore(parts: readonly Part[], cpuMs = 1000): number {
  const sheds = parts.reduce((sum, { rate }) => sum + rate * SHED, 0)
  const served = parts.reduce((sum, { rate, ms }) => sum + rate * (ms + PARSE), 0)
  return Math.min(1, (cpuMs - sheds) / (served - sheds)) * goodOf(parts)
}

const goodOf = (parts: readonly Part[]): number => parts.reduce((sum, { rate, good = 1 }) => sum + rate * good, 0)

interface Draft {
  readonly workload: Workload
  readonly seconds: number
  readonly changesAt?: readonly number[]
  /** @default the load offered */
  readonly ideal?: (s: number) => number
}

/** Demand exceeds capacity. `ideal` is not capped at the rate, because cohorts add to it. */
export const scarce = (name: string, rest: Draft & { readonly ideal: (s: number) => number }): Scenario => ({
  changesAt: [],
  noShed: false,
  ...rest,
  name,
})

/** Capacity suffices within two seconds at the latest, so no request may be shed. The ideal is the load offered. */
export const enough = (name: string, rest: Draft): Scenario => ({
  changesAt: [],
  noShed: true,
  ideal: () => Number.POSITIVE_INFINITY,
  ...rest,
  name,
})
