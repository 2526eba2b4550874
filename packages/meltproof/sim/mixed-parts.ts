/** What the sets of mixes on one path are made of (`mixed.ts`, `mixed-held-out.ts`). */
import type { Random } from './random.ts'
import { PARSE, SHED, sliced } from './scenario-parts.ts'
import type { Scenario } from './scenarios.ts'
import type { Kind, Step, Workload } from './workload.ts'

/** One operation of a path: how many come, and what one does. */
export interface Operation {
  readonly perSecond: number | ((nowMs: number) => number)
  readonly steps: (random: Random, nowMs: number) => readonly Step[]
  readonly client?: (random: Random) => number
}

const rateOf = ({ perSecond }: Operation, nowMs: number): number =>
  typeof perSecond === 'number' ? perSecond : perSecond(nowMs)

/** All on one path, and of one route: admission cannot tell them apart before they are served. */
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

/** Burns so much CPU, at most 5 ms at a time. */
export const burns = (ms: number): Step[] => (ms > 5 ? sliced(ms, Math.ceil(ms / 5)) : [{ cpu: ms }])
/** Waits for something with room for everybody. */
export const awaits = (ms: number): Step[] => [{ cpu: 0.15 }, { wait: ms }, { cpu: 0.1 }]
/** Holds something of a pool with a name. */
export const holds = (of: string, ms: number | ((nowMs: number) => number)): Step[] => [
  { cpu: 0.1 },
  { pool: ms, of },
  { cpu: 0.1 },
]
/** What `holds` burns, ms. */
export const HOLDS_CPU = 0.2
/** Answered at once with a status, after so much CPU. */
export const refused = (status: number, ms = 0.1): Step[] => [{ cpu: ms }, { status }]

export function normal(random: Random): number {
  return Math.sqrt(-2 * Math.log(1 - random.next())) * Math.cos(2 * Math.PI * random.next())
}
export const lognormal = (random: Random, median: number, sigma: number): number =>
  median * Math.exp(sigma * normal(random))

/** Pareto between two bounds. */
export function pareto(random: Random, least: number, most: number, tail: number): number {
  const u = random.next()
  return least / (1 - u * (1 - (least / most) ** tail)) ** (1 / tail)
}
export const paretoMean = (least: number, most: number, tail: number): number =>
  ((least ** tail * tail) / ((1 - (least / most) ** tail) * (tail - 1))) * (least ** (1 - tail) - most ** (1 - tail))

/** One part of what comes: how many per second, how much of the scarce thing each takes, and whether it can be in time. */
export interface Part {
  readonly rate: number
  /** Of the scarce thing, ms. For a core, what handlers burn. */
  readonly ms: number
  /** Of its answers, those that can be goodput. @default 1 */
  readonly good?: number
}

/**
 * Uniform admission: a share p of all that comes, the same of every operation, since nothing tells them apart. What it
 * answers in time per second when `places` of something are scarce.
 */
export function uniformly(places: number, parts: readonly Part[]): number {
  const needed = parts.reduce((sum, { rate, ms }) => sum + rate * ms, 0)
  return Math.min(1, (places * 1000) / needed) * goodOf(parts)
}

/** The same where the core is scarce: of `cpuMs` per second each served one takes its parsing too, and each shed its cost. */
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
  /** @default what is offered */
  readonly ideal?: (s: number) => number
}

/** More is asked for than can be done. `ideal` is not held against a rate: cohorts are offered besides. */
export const scarce = (name: string, rest: Draft & { readonly ideal: (s: number) => number }): Scenario => ({
  changesAt: [],
  noShed: false,
  ...rest,
  name,
})

/** There is enough for everybody, at the latest within two seconds: no request may be shed. The ideal is what is offered. */
export const enough = (name: string, rest: Draft): Scenario => ({
  changesAt: [],
  noShed: true,
  ideal: () => Number.POSITIVE_INFINITY,
  ...rest,
  name,
})
