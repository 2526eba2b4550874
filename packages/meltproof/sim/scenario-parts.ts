/** What the sets of scenarios are made of that were written apart from `scenarios.ts`. */
import type { Scenario } from './scenarios.ts'
import type { Step, Workload } from './workload.ts'

/** What a served request costs the core besides its steps, and what one turned away costs, ms (service.ts). */
export const PARSE = 0.0356
export const SHED = 0.008

/** So much CPU in so many equal slices. */
export const sliced = (ms: number, slices: number): Step[] =>
  Array.from({ length: 2 * slices - 1 }, (_, i): Step => (i % 2 === 0 ? { cpu: ms / slices } : 'yield'))

/** What a core answers per second when `rate` come, each answer burns `ms` and each shed `shedMs`; of `cpuMs` per second. */
export const coreDoes = (ms: number, rate: number, shedMs: number = SHED, cpuMs: number = 1000): number =>
  (cpuMs - rate * shedMs) / (ms - shedMs)

export const steady =
  (rate: number): ((nowMs: number) => number) =>
  () =>
    rate

/** Linear between the two times. */
export const between = (nowMs: number, fromMs: number, toMs: number, from: number, to: number): number =>
  from + (to - from) * Math.min(1, Math.max(0, (nowMs - fromMs) / (toMs - fromMs)))

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

/** More is asked for than can be done: goodput counts. */
export const overload = (name: string, rest: Draft & { readonly ideal: (s: number) => number }): Scenario =>
  draft(name, false, rest)

/** There is enough: nobody must be shed. */
export const ample = (name: string, rest: Draft): Scenario => draft(name, true, rest)
