/** The expectations and the view of the rising burst. Pure. */
import { expectation } from '../experiment/expectation.ts'
import type { Expectation, Published } from '../experiment/scenario.ts'
import { formatChosen, formatCount, formatMs, formatPercent, formatRate } from '../report/format.ts'
import { linesBy } from '../report/plots.ts'
import type { Axis, LinesPlot, Standing, View } from '../report/result.ts'
import { NOTHING_MEASURED, standingOf, toneOf } from '../report/standing.ts'
import { tableOf } from '../report/tables.ts'
import { publishedAt1200 } from './burst-view.ts'

/** Length of a step in seconds, as published. */
export const STEP_S = 2

export interface BurstStep {
  /** The second in which the step began. The step counts the requests due in it, whenever they ended. */
  readonly from: number
  readonly started: number
  readonly ok: number
  /** The `ok` answers within a second. */
  readonly good: number
  readonly shed: number
  /** Connection errors, and requests without an answer in time. */
  readonly failed: number
  /** Mean latency of the `ok` answers; null without any. */
  readonly meanMs: number | null
  readonly p99Ms: number | null
  readonly shedP99Ms: number | null
}

export interface BurstRun {
  readonly arm: string
  readonly timeoutMs: number
  readonly steps: readonly BurstStep[]
  readonly failed: number
  readonly unsent: number
}

type Runs = readonly BurstRun[]

const runOf = (runs: Runs, arm: string): BurstRun | undefined => runs.find(run => run.arm === arm)
const perSecond = (count: number): number => count / STEP_S
const totalOk = ({ steps }: BurstRun): number => steps.reduce((sum, step) => sum + step.ok, 0)

/** The most good answers in a step of any arm: the app's capacity. */
const most = (runs: Runs): number => Math.max(0, ...runs.flatMap(({ steps }) => steps.map(step => step.good)))
/** The steps that offer more than the capacity. */
const above = (runs: Runs, arm: string): readonly BurstStep[] | undefined =>
  runOf(runs, arm)?.steps.filter(step => step.started > most(runs))

export const burstExpects: readonly Expectation<BurstRun[]>[] = [
  expectation(
    'bare: good answers end above its capacity',
    runs => above(runs, 'bare')?.at(-1),
    (last, runs) => [
      last.good < 0.1 * most(runs),
      `${formatRate(perSecond(last.good))} good answers of ${formatRate(perSecond(last.started))} a second`,
    ],
  ),
  expectation(
    'protected: in every step above it at least 95 % of the maximum of any arm, admitted p99 at most 200 ms',
    runs => above(runs, 'protected'),
    (steps, runs) => {
      const least = Math.min(...steps.map(step => step.good / most(runs)))
      const p99 = Math.max(...steps.map(step => step.p99Ms ?? Number.POSITIVE_INFINITY))
      return [least >= 0.95 && p99 <= 200, `at least ${formatPercent(least)}, p99 at most ${formatMs(p99)}`]
    },
  ),
  expectation(
    'protected: every request gets an answer',
    runs => runOf(runs, 'protected'),
    ({ failed, unsent }) => [failed + unsent === 0, `${formatCount(failed + unsent)} without an answer`],
  ),
]

export const burstPublished: readonly Published<BurstRun[]>[] = [
  ...publishedAt1200<BurstRun[]>((runs, arm) => stepAt(runs, arm, 1200)),
  {
    what: 'its known weakness',
    value: 'successes fall to about 70 % of the unprotected volume',
    ours(runs) {
      const [bare, toobusy, ours] = ['bare', 'toobusy-js', 'protected'].map(arm => runOf(runs, arm))
      if (bare === undefined || toobusy === undefined || ours === undefined) return undefined
      const share = (run: BurstRun): string => formatPercent(totalOk(run) / Math.max(1, totalOk(bare)))
      return `${share(toobusy)} of it, and ${share(ours)} with meltproof, including answers that came too late`
    },
  },
]

/** The result of the first step with at least this rate per second. */
function stepAt(runs: Runs, arm: string, rate: number): string | undefined {
  const run = runOf(runs, arm)
  const step = run?.steps.find(({ started }) => perSecond(started) >= rate)
  if (step === undefined) return undefined
  const share = (count: number): string => formatPercent(count / step.started)
  const answered = step.meanMs === null ? 'no 200' : `200 after ${formatMs(step.meanMs)} on average (${share(step.ok)})`
  const refused = step.shed === 0 ? '' : `, 503 within ${formatMs(step.shedP99Ms)} (${share(step.shed)}, p99)`
  return `${answered}${refused}, ${share(step.failed)} failed or had none after ${formatChosen(run!.timeoutMs)}`
}

export function burstView(runs: Runs): View {
  const tops = runs.flatMap(run => run.steps.slice(-1).map(top => ({ run, top })))
  if (tops.length === 0) return NOTHING_MEASURED
  const given = tops.map(({ run, top }) => `${run.arm} ${formatRate(perSecond(top.good))}`)
  const rate = formatRate(Math.max(...tops.map(({ top }) => perSecond(top.started))))
  return {
    standings: tops.map(({ run, top }) => standing(run, top, most(runs))),
    finding: `New connections rise to ${rate} a second. Good answers a second then: ${given.join(', ')}; at most it is ${formatRate(perSecond(most(runs)))}.`,
    plots: [
      plot(runs, 'Good answers, by the load', { label: 'answers 200 within 1 s, a second', unit: 'rate' }, step =>
        perSecond(step.good),
      ),
      plot(
        runs,
        'Mean latency of the answers 200',
        { label: 'latency', unit: 'ms', scale: 'log' },
        step => step.meanMs,
      ),
    ],
    tables: runs.map(({ arm, timeoutMs, steps }) =>
      tableOf(
        {
          title: `${arm}: results of the requests of each step`,
          note: `A step takes ${STEP_S} s. Failed: connection errors, and no answer after ${formatChosen(timeoutMs)}. Latencies are of answers 200.`,
        },
        steps.map(step => ({ ...step, arm })),
        [
          ['started /s', step => formatRate(perSecond(step.started))],
          ['200 within 1 s /s', step => formatRate(perSecond(step.good))],
          ['200 /s', step => formatRate(perSecond(step.ok))],
          ['503 /s', step => formatRate(perSecond(step.shed))],
          ['failed /s', step => formatRate(perSecond(step.failed))],
          ['mean', step => formatMs(step.meanMs)],
          ['p99', step => formatMs(step.p99Ms)],
          ['503 p99', step => formatMs(step.shedP99Ms)],
        ],
      ),
    ),
  }
}

function standing({ arm, steps }: BurstRun, top: BurstStep, best: number): Standing {
  const usual = standingOf(arm, best === 0 ? 0 : top.good / best, 'good at the top')
  const figure = `${formatRate(perSecond(top.good))}/s`
  const melted = steps.find(step => step.started > best && toneOf(step.good / best) === 'bad')
  if (melted === undefined) return { ...usual, figure }
  return { ...usual, says: `melts at ${formatRate(perSecond(melted.started))}/s`, tone: 'bad', figure }
}

function plot(runs: Runs, title: string, y: Axis, value: (step: BurstStep) => number | null): LinesPlot {
  return linesBy({ title }, { label: 'new connections a second', unit: 'rate' }, y, runs, ({ steps }) =>
    steps.map(step => [perSecond(step.started), value(step)] as const),
  )
}
