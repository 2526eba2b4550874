/** Measures an app's capacity with the probes of capacity-search.ts. */
import { performance } from 'node:perf_hooks'
import type { SpeedWatch } from '../launch/core-speed.ts'
import type { LoadOutcome, LoadPlan } from '../load/plan.ts'
import { mean } from '../report/number-stats.ts'
import { UserError } from '../user-error.ts'
import { type NextProbe, nextProbe, type Probe } from './capacity-search.ts'
import { probe, type Target } from './load-plans.ts'
import type { Capacity } from './measured.ts'
import { AGREE_WITHIN, agree } from './no-verdict.ts'
import type { CapacityTimes } from './options.ts'

export interface CapacityContext {
  readonly target: Target
  readonly times: CapacityTimes
  readonly run: (plan: LoadPlan) => Promise<LoadOutcome>
  readonly onProbe: (probe: Probe) => void
  /** Watches the server's core. */
  readonly speed?: SpeedWatch
}

export type MeasuredCapacity = Pick<
  Capacity,
  'rate' | 'users' | 'latencyP50Ms' | 'isSteady' | 'coreSpeed' | 'generator'
>

const warmUpUsers = 8
/** An app that is still not steady after this many warm-ups, or searches, is measured but not judged. */
const mostWarmUps = 10
const mostSearches = 4
/** A probe lasts until it has about these numbers of answers, in total and per user, but at most `longestProbeMs`. */
const answersPerProbe = 20
const answersPerUser = 4
const longestProbeMs = 5000

interface WarmUp {
  readonly last: LoadOutcome
  readonly isSteady: boolean
  /** Time until the rate was near the rate of the last part, ms. */
  readonly coldMs: number
}

/** Warms up until the rate is steady: while code is compiled or a cache fills, each part is faster than the last. */
export async function warmUp(load: () => Promise<LoadOutcome>): Promise<WarmUp> {
  const parts: { readonly endMs: number; readonly outcome: LoadOutcome }[] = []
  for (;;) {
    const last = await load()
    const before = parts.at(-1)
    const isSteady = before !== undefined && isNear(last, rateOf(before.outcome))
    parts.push({ endMs: (before?.endMs ?? 0) + last.elapsedMs, outcome: last })
    if (!isSteady && parts.length < mostWarmUps) continue
    const coldMs = parts.findLast(({ outcome }) => isSlower(outcome, last))?.endMs ?? 0
    return { last, isSteady, coldMs }
  }
}

/** Answers per ms. */
const rateOf = ({ okLatency, elapsedMs }: LoadOutcome): number => okLatency.count / elapsedMs

/** True if the rates differ by at most a tenth, or by no more than chance explains. */
const isNear = (part: LoadOutcome, rate: number): boolean => {
  const chance = (2 * Math.sqrt(part.okLatency.count)) / part.elapsedMs
  return Math.abs(rateOf(part) - rate) <= Math.max(0.1 * rate, chance)
}

const isSlower = (part: LoadOutcome, warm: LoadOutcome): boolean =>
  rateOf(part) < rateOf(warm) && !isNear(part, rateOf(warm))

/** A few users send requests until the app's code has been compiled. */
export const warmUpCode = ({ target, times, run }: CapacityContext): ReturnType<typeof warmUp> =>
  warmUp(() => run(probe(target, warmUpUsers, times.warmUpMs)))

/**
 * Repeats the search until its result agrees with an earlier one, at most `mostSearches` times. Returns the results
 * that count, in order. A result between the two that agree does not count if it is smaller than both: other work can
 * only reduce it.
 */
export async function untilAgreed<T>(
  measure: (before: T | undefined) => Promise<T>,
  rateOf: (found: T) => number,
): Promise<readonly [T, ...T[]]> {
  const [first, ...later]: [T, ...T[]] = [await measure(undefined)]
  while (later.length < mostSearches - 1) {
    const found = [first, ...later]
    const last = await measure(found.at(-1))
    const isReduced = (each: T, same: T): boolean => rateOf(each) < Math.min(rateOf(same), rateOf(last))
    const same = found.findLastIndex(
      (one, at) => agree([rateOf(one), rateOf(last)]) && found.slice(at + 1).every(each => isReduced(each, one)),
    )
    if (same >= 0) return [first, ...later.slice(0, same), last]
    later.push(last)
  }
  return [first, ...later]
}

type AtSpeed = Pick<Capacity, 'rate' | 'coreSpeed'>

/**
 * How much the larger capacity exceeds the smaller one, as a share, after the smaller one is scaled to the same core
 * speed if both speeds are known: on a slower core an app may do less. At least 0.
 */
export function ownDriftOf(larger: AtSpeed, smaller: AtSpeed): number {
  const isKnown = larger.coreSpeed != null && smaller.coreSpeed != null
  const atSameSpeed = isKnown ? smaller.rate * (larger.coreSpeed / smaller.coreSpeed) : smaller.rate
  return Math.max(0, larger.rate / atSameSpeed - 1)
}

export async function searchCapacity(
  context: CapacityContext,
): Promise<MeasuredCapacity & { readonly searches: readonly number[]; readonly coldMs: number }> {
  const { target } = context
  let elapsedMs = 0
  const timed: CapacityContext = {
    ...context,
    run: async plan => {
      const outcome = await context.run(plan)
      elapsedMs += outcome.elapsedMs
      return outcome
    },
  }
  const { last, isSteady, coldMs } = await warmUpCode(timed)
  requireAnswers(last, target)
  const found = await untilAgreed(
    // A further search begins with half as many users as the previous one found.
    async (before: Searched | undefined): Promise<Searched> => {
      const result = await searchOnce(timed, Math.ceil((before?.users ?? 1) / 2))
      return { ...result, endMs: elapsedMs }
    },
    each => each.rate,
  )
  const searches = found.map(({ rate }) => rate)
  const rate = searches.slice(-2).reduce((a, b) => (a + b) / 2)
  const { endMs: _, ...result } = found.at(-1)!
  const coreSpeed = mean(found.slice(-2).flatMap(each => each.coreSpeed ?? []))
  const generator = found.slice(-2).flatMap(each => each.generator ?? [])[0]
  // An app may be steady and still cold, for example while it loads its data.
  const again = await timed.run(probe(target, warmUpUsers, timed.times.warmUpMs))
  const firstWarm = found.find(each => each.rate >= (1 - AGREE_WITHIN) * rate)!
  const warmMs = isSlower(last, again) ? firstWarm.endMs - timed.times.confirmMs : coldMs
  return { ...result, rate, coreSpeed, generator, searches, isSteady, coldMs: Math.round(warmMs) }
}

type Searched = MeasuredCapacity & {
  /** Total time under load since the first request, ms. */
  readonly endMs: number
}

async function searchOnce(context: CapacityContext, fewestUsers: number): Promise<MeasuredCapacity> {
  const { target, times, run, onProbe } = context
  const done: (Probe & NextProbe)[] = []
  let p50 = 0
  for (;;) {
    const next = nextProbe(done, fewestUsers)
    if (next.kind === 'confirm') {
      const confirmed = await confirm(context, next.users)
      onProbe({ users: next.users, goodput: confirmed.rate })
      return confirmed
    }
    const answersEach = Math.max(answersPerUser, answersPerProbe / next.users)
    const probeMs = Math.min(longestProbeMs, Math.max(times.probeMs, p50 * answersEach))
    const outcome = await run(probe(target, next.users, probeMs))
    if (done.length === 0) {
      requireGoodput(outcome, target)
      p50 = outcome.okLatency.percentile(50)
    }
    done.push({ ...next, goodput: (outcome.good * 1000) / outcome.elapsedMs })
    onProbe(done.at(-1)!)
  }
}

/** Measures the capacity again, on a fresh process, with the number of users that the search found. */
export async function remeasureCapacity(context: CapacityContext, users: number): Promise<MeasuredCapacity> {
  const { isSteady } = await warmUpCode(context)
  const again = await confirm(context, users)
  context.onProbe({ users, goodput: again.rate })
  return { ...again, isSteady }
}

async function confirm(context: CapacityContext, users: number, isAgain = false): Promise<MeasuredCapacity> {
  const { target, times, run, speed } = context
  const startedMs = performance.now()
  const outcome = await run(probe(target, users, times.confirmMs))
  const generator = (['saturated', 'frozen'] as const).find(code => outcome.certificate.doubts.includes(code))
  // A single pause may be chance.
  if (generator === 'frozen' && !isAgain) return confirm(context, users, true)
  // In the first second each user's first request has no predecessor, so more are scheduled than answered.
  const counted = outcome.seconds.filter(each => each.second >= 1 && (each.second + 1) * 1000 <= times.confirmMs)
  const good = counted.reduce((sum, each) => sum + each.good, 0)
  if (good === 0) throw new UserError(`the app stopped answering ${target.url} while its capacity was measured`)
  const coreSpeed = speed?.between(startedMs + 1000, startedMs + times.confirmMs)
  return { rate: good / counted.length, users, latencyP50Ms: outcome.okLatency.percentile(50), coreSpeed, generator }
}

function requireAnswers(outcome: LoadOutcome, target: Target): void {
  if (outcome.okLatency.count > 0) return
  const answers = Object.entries(outcome.answered).map(([status, count]) => `${status} (${count} times)`)
  const failures = Object.entries(outcome.failed).map(([code, count]) => `${code} (${count} times)`)
  const what = [...answers, ...failures].join(', ') || 'nothing'
  throw new UserError(`the app answered only errors to ${target.method} ${target.url}: ${what}`)
}

function requireGoodput(outcome: LoadOutcome, target: Target): void {
  if (outcome.good > 0) return
  const p50 = (outcome.okLatency.percentile(50) / 1000).toFixed(2)
  throw new UserError(
    `one user alone waits ${p50}s for ${target.url}, longer than the SLO of ${target.sloMs / 1000}s, ` +
      'so there is no goodput to measure; raise --slo',
  )
}
