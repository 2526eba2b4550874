/**
 * The figures of a step, and table rows of several rounds. They count requests *scheduled* in the window, whenever
 * their answers arrived. Pure.
 */
import { sumOf, totalOf } from '../load/added.ts'
import { doubtedMs, type Figure, MEDIAN_AND_P99 } from '../load/certify.ts'
import { Histogram } from '../load/histogram.ts'
import type { LoadOutcome, LoadSecond } from '../load/plan.ts'
import { MAX_FOREIGN_CORES } from '../processes/foreign-cpu.ts'
import { formatMs, formatRate } from '../report/format.ts'
import { median } from '../report/number-stats.ts'
import type { Standing } from '../report/result.ts'
import { keptOf, rankOf, toneOf } from '../report/standing.ts'
import type { Capacity, Doubted, Fates, Latency, MeltSetup, Row, SecondResult, StepResult, Window } from './measured.ts'
import type { UnderLoad } from './step.ts'

export { median }

/** Every step starts a cold process, which is expected to be steady from this second on. */
const steadyFromSecond = 1
/** To show a warm app, a step must last at least this much longer than the app is cold, ms. */
const WARM_MS = 2000
/** An app whose goodput is below this share of its capacity answers next to no request in time. */
const NEXT_TO_NONE = 0.05

/** A core whose speed changed by no more than this counts as steady. */
const STEADY_WITHIN = 0.1

/** A single request delayed by a garbage collection is not a failure. */
export const NEARLY_ALL = 0.99

export const isWell = (second: SecondResult | undefined): boolean =>
  second !== undefined && second.goodput >= NEARLY_ALL * second.offered

/** The whole seconds that count. With the SLO as `afterMs`, their good answers arrive before the load ends. */
export function windowOf(durationMs: number, afterMs = 0): Window {
  return { from: steadyFromSecond, to: Math.floor((durationMs - afterMs) / 1000) }
}

/** True if each good answer was complete while the load lasted; false for results of older versions. */
export const isUnderLoad = (setup: Pick<MeltSetup, 'durationMs' | 'sloMs' | 'window'>): boolean =>
  setup.durationMs - 1000 * setup.window.to >= setup.sloMs

type StepInput = UnderLoad<LoadOutcome> &
  Pick<StepResult, 'arm' | 'multiple' | 'round'> & { readonly window: Window; readonly sloMs: number }

export function summariseStep(input: StepInput): StepResult {
  const { arm, multiple, round, window, sloMs, outcome, watched, died, foreign, coreSpeed } = input
  const inWindow = outcome.seconds.filter(each => each.second >= window.from && each.second < window.to)
  const answers = totalOf(outcome.answered)
  return {
    arm,
    multiple,
    round,
    // An interrupted run has fewer seconds than its window, and rates refer to those it has.
    ...fatesOf(inWindow, Math.max(1, inWindow.length), sloMs),
    admittedMs: latencyOf(inWindow.map(each => each.okLatency)),
    ...doubtedIn(outcome),
    shedMs: latencyOf(inWindow.map(each => each.shedLatency)),
    longestAnswerMs: latencyOf([outcome.okLatency, outcome.shedLatency, outcome.otherLatency]).max,
    answered: outcome.answered,
    failedByCode: outcome.failed as Readonly<Record<string, number>>,
    server: {
      peakRssBytes: watched.peakRssBytes,
      cpuMs: watched.cpuMs,
      cpuPerAnswerUs: answers === 0 ? null : (watched.cpuMs * 1000) / answers,
      foreignShare: foreign,
      coreSpeed: coreSpeed(window),
      died,
    },
    generator: {
      certified: outcome.certified,
      why: outcome.why,
      doubts: outcome.certificate.doubts,
      goodLost: goodLostIn(outcome, sloMs) / Math.max(1, outcome.seconds.length),
      cpuPerRequestUs: outcome.cpuPerRequestUs,
      sendLagP99Ms: finite(outcome.sendLag.percentile(99)),
    },
    incomplete: outcome.incomplete,
    seconds: outcome.seconds.map(second => secondOf(second, sloMs)),
    memory: watched.samples.map(({ atMs, rssBytes }) => ({ atMs: Math.round(atMs), rssBytes })),
  }
}

export function secondOf(second: LoadSecond, sloMs: number): SecondResult {
  return {
    second: second.second,
    ...fatesOf([second], 1, sloMs),
    admittedP50Ms: finite(second.okLatency.percentile(50)),
    admittedP99Ms: finite(second.okLatency.percentile(99)),
  }
}

export function fatesOf(seconds: readonly LoadSecond[], lengthS: number, sloMs: number): Fates {
  const rate = (of: (second: LoadSecond) => number): number => sumOf(seconds, of) / lengthS
  const answered = (second: LoadSecond, which: RegExp): number =>
    sumOf(Object.entries(second.answered), ([status, count]) => (which.test(status) ? count : 0))
  return {
    offered: rate(({ scheduled }) => scheduled),
    goodput: rate(({ good }) => good),
    late: rate(second => answered(second, /^[23]/) - second.good),
    shed: rate(second => answered(second, /^503$/)),
    shedLate: rate(({ shedLatency: { count }, shedLatency }) =>
      count === 0 ? 0 : count * (1 - shedLatency.shareWithin(sloMs)),
    ),
    otherStatus: rate(second => answered(second, /^(?!503$|[23])/)),
    failed: rate(({ failed }) => totalOf(failed)),
    unsent: rate(({ scheduled, sent }) => scheduled - sent),
  }
}

/** Answers that missed the SLO only because the generator was late. */
export const goodLostIn = ({ clean, good }: Pick<LoadOutcome, 'clean' | 'good'>, sloMs: number): number =>
  clean.ok.count === 0 ? 0 : Math.max(0, clean.ok.count * clean.ok.shareWithin(sloMs) - good)

export function latencyOf(parts: readonly Histogram[]): Latency {
  const all = Histogram.merged(parts)
  return { p50: finite(all.percentile(50)), p99: finite(all.percentile(99)), max: finite(all.max) }
}

function doubtedIn({ certificate, okLatency }: LoadOutcome): Pick<StepResult, 'doubtedMs'> {
  const bounds = certificate.intervals.ok
  if (bounds === undefined) return {}
  const ownMs = (figure: Figure) => [figure.name, doubtedMs(figure, bounds[figure.name], okLatency.count)] as const
  return doubtedOf(Object.fromEntries(MEDIAN_AND_P99.map(ownMs)))
}

function doubtedOf(all: Doubted): Pick<StepResult, 'doubtedMs'> {
  const doubted = Object.entries(all).filter(([, own]) => own > 0)
  return doubted.length === 0 ? {} : { doubtedMs: Object.fromEntries(doubted) }
}

/** The capacity by which steps are judged. */
type Base = Pick<Capacity, 'rate' | 'coldMs' | 'coreSpeed'> & Partial<Pick<Capacity, 'before' | 'after'>>

/** Why a step is no evidence about the app, and what to do; undefined if it is. Stored results may have no seconds. */
export function whyUnjudged({ seconds = [], ...step }: StepResult, base: Base): string | undefined {
  const { rate, before = rate, after } = base
  const { died, foreignShare } = step.server
  if (died !== null) return undefined
  if ((foreignShare ?? 0) > MAX_FOREIGN_CORES) {
    return 'other processes used more than a tenth of the server’s core; end them and repeat the run'
  }
  const third = Math.max(1, Math.floor(seconds.length / 3))
  // Trouble that begins after the first three seconds is not due to the cold start.
  const becomesWell = seconds.slice(-third).every(isWell) && !seconds.slice(0, Math.min(third, 3)).every(isWell)
  const toneAt = (capacity: number) => toneOf(keptOf({ ...step, ofCapacity: step.goodput / capacity }))
  const tone = toneAt(rate)
  const speed = speedOf(step.server.coreSpeed, base)
  if (toneAt(rate * speed) !== tone || isOtherLoad(step.multiple, speed, tone)) {
    const change = speed < 1 ? 'slower' : 'faster'
    return `the server’s core was ${change} than while the capacity was measured, which may be the reason; repeat the run, or use a machine whose cores are not shared`
  }
  const least = Math.min(before, after ?? before)
  if (toneAt(least) !== tone) {
    return `its capacity was ${formatRate(least)} or ${formatRate(rate)}/s, and the verdict depends on which; repeat the run without --quick and without other work`
  }
  if (tone === 'good') return undefined
  if (isGenerators(step, rate)) {
    return 'the generator itself was late, which may be the reason; repeat the run without other work, or with lower multiples'
  }
  if (becomesWell) return 'it answered all at the end and not at the start, as it was cold; use a longer --duration'
  return whyCold({ seconds, ...step }, base)
}

/** True if a pause of the generator, or its lateness, may have cost the step its verdict. */
function isGenerators(step: Omit<StepResult, 'seconds'>, rate: number): boolean {
  const { multiple, offered, unsent, generator } = step
  const { doubts = [], goodLost = 0 } = generator
  // An app that answers next to no request of an overload in time melts with and without a pause.
  if (doubts.includes('frozen')) return multiple <= 1 || step.goodput >= NEXT_TO_NONE * rate
  // Requests that lacked a connection waited for the app.
  if (!doubts.includes('late') || doubts.includes('connections')) return false
  const toneAt = (goodput: number, sent: number) =>
    toneOf(keptOf({ goodput, offered: sent, ofCapacity: goodput / rate }))
  return toneAt(step.goodput + goodLost, offered - unsent) !== toneAt(step.goodput, offered)
}

/** Says why a process that was still cold may explain too few good answers; undefined if it does not. */
function whyCold({ seconds, multiple, goodput, offered }: StepResult, { rate, coldMs = 0 }: Base): string | undefined {
  if (coldMs === 0 || seconds.length === 0) return undefined
  if (seconds.length * 1000 < coldMs + WARM_MS) {
    // A cold app still answers part of an overload: if it answers next to none, coldness is not the cause.
    if (multiple >= 1 && goodput < NEXT_TO_NONE * rate) return undefined
    return `it may not have been warm yet, which took up to ${formatMs(coldMs)}; use a --duration of at least ${Math.ceil((coldMs + WARM_MS) / 1000)}s`
  }
  const rank = (good: number) => rankOf(keptOf({ goodput: good, offered, ofCapacity: good / rate }))
  const warm = seconds.filter(({ second }) => second * 1000 >= coldMs)
  return rank(sumOf(warm, second => second.goodput) / warm.length) > rank(goodput)
    ? 'it answered more at the end than at the start, as it was cold; use a longer --duration'
    : undefined
}

/** The speed of the core as a share of its speed when the capacity was measured; 1 if they are near, or unknown. */
export function speedOf(now: number | null | undefined, { coreSpeed }: Pick<Base, 'coreSpeed'>): number {
  if (now == null || coreSpeed == null) return 1
  const share = now / coreSpeed
  return Math.abs(share - 1) <= STEADY_WITHIN ? 1 : share
}

/** On a slower core a load below the capacity may be an overload; on a faster core a load above it may be none. */
const isOtherLoad = (multiple: number, speed: number, tone: Standing['tone']): boolean =>
  multiple <= 1
    ? speed < 1 && multiple > (1 - STEADY_WITHIN) * speed && tone !== 'good'
    : speed > 1 && multiple < (1 + STEADY_WITHIN) * speed && tone !== 'bad'

/** One row per arm and multiple, ordered by arm, then by multiple. */
export function rowsOf(steps: readonly StepResult[], arms: readonly string[], capacity: Base): Row[] {
  const multiples = [...new Set(steps.map(step => step.multiple))].sort((a, b) => a - b)
  return arms.flatMap(arm =>
    multiples.flatMap(multiple => {
      const rounds = steps.filter(step => step.arm === arm && step.multiple === multiple && !step.incomplete)
      return rounds.length === 0 ? [] : [rowOf(arm, multiple, rounds, capacity)]
    }),
  )
}

const fates = ['offered', 'goodput', 'late', 'shed', 'shedLate', 'otherStatus', 'failed', 'unsent'] as const

function rowOf(arm: string, multiple: number, all: readonly StepResult[], capacity: Base): Row {
  const judged = all.filter(step => whyUnjudged(step, capacity) === undefined)
  const [rounds, unjudged] = judged.length > 0 ? [judged, undefined] : [all, whyUnjudged(all[0]!, capacity)]
  const mid = (of: (step: StepResult) => number): number => median(rounds.map(of)) ?? 0
  const midKnown = (of: (step: StepResult) => number | null): number | null =>
    median(rounds.map(of).filter(value => value !== null))
  const midLatency = (of: (step: StepResult) => Latency): Latency => ({
    p50: midKnown(step => of(step).p50),
    p99: midKnown(step => of(step).p99),
    max: midKnown(step => of(step).max),
  })
  return {
    arm,
    multiple,
    rounds: rounds.length,
    ...(Object.fromEntries(fates.map(fate => [fate, mid(step => step[fate])])) as Record<keyof Fates, number>),
    ofCapacity: mid(step => step.goodput) / capacity.rate,
    admittedMs: midLatency(step => step.admittedMs),
    ...doubtedOf({ p50: mid(step => step.doubtedMs?.p50 ?? 0), p99: mid(step => step.doubtedMs?.p99 ?? 0) }),
    shedMs: midLatency(step => step.shedMs),
    longestAnswerMs: midKnown(step => step.longestAnswerMs),
    errors: mid(step => totalOf(step.failedByCode)),
    peakRssBytes: mid(step => step.server.peakRssBytes),
    cpuPerAnswerUs: midKnown(step => step.server.cpuPerAnswerUs),
    died: rounds.some(step => step.server.died !== null),
    ...(unjudged === undefined ? {} : { unjudged }),
  }
}

/** JSON has no NaN: a percentile without samples is null. */
const finite = (value: number): number | null => (Number.isFinite(value) ? value : null)
