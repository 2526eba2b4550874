/** Shared by blackhole, drip, domino and database: an open loop on a service with one sick part, once for each arm. */
import { formatChosen, formatCount, formatCounts, formatMs, formatPercent, formatRate } from '../report/format.ts'
import { type LoadFigures, loadFigures } from '../report/load-figures.ts'
import type { LinesPlot, Plot, ScenarioArm, Standing, View } from '../report/result.ts'
import { overTime } from '../report/plots.ts'
import { toneOf } from '../report/standing.ts'
import { tableOf } from '../report/tables.ts'
import type { Context, Expectation, RunningApp } from '../experiment/scenario.ts'

export interface SickRun {
  readonly arm: string
  readonly figures: LoadFigures
  /** Share (0..1) of all requests with a 2xx or 3xx answer within the SLO. */
  readonly goodput: number
  /** Number of users' requests in flight, over time. */
  readonly waiting: readonly { readonly atMs: number; readonly requests: number }[]
  /** Other values read during the run, by name. */
  readonly sampled: Readonly<Record<string, readonly { readonly atMs: number; readonly value: number }[]>>
  /** Status and body of the first error answer; null without one. */
  readonly told: string | null
}

export interface SickMeasured {
  rate: number
  limitMs: number
  patienceMs: number
  sloMs: number
  readonly runs: SickRun[]
}

export const blankSick = (): SickMeasured => ({ rate: 0, limitMs: 0, patienceMs: 0, sloMs: 0, runs: [] })

export const runOf = ({ runs }: SickMeasured, arm: string): SickRun | undefined => runs.find(run => run.arm === arm)

export function judgeGoodput(arm: string, right: (goodput: number) => boolean): Expectation<SickMeasured>['judge'] {
  return measured => {
    const run = runOf(measured, arm)
    return run && { pass: right(run.goodput), measured: `${formatPercent(run.goodput)} good` }
  }
}

/** Good answers by arm, to be shown beside a published result without a figure. */
export const goodByArm = ({ runs }: SickMeasured): string | undefined =>
  runs.length === 0
    ? undefined
    : `good answers: ${runs.map(run => `${formatPercent(run.goodput)} (${run.arm})`).join(', ')}`

/** A sentence about the three arms; while some are missing, it says how many were measured. */
export function sayOfThree(
  measured: SickMeasured,
  say: (bare: SickRun, naive: SickRun, ours: SickRun) => string,
): string {
  const [bare, naive, ours] = ['bare', 'naive timeout', 'meltproof'].map(arm => runOf(measured, arm))
  if (bare !== undefined && naive !== undefined && ours !== undefined) return say(bare, naive, ours)
  return `${measured.runs.length} of 3 arms were measured before the run ended.`
}

export interface SickLoad {
  readonly arm: string
  readonly service: RunningApp
  readonly durationMs: number
  /** Values by name, read every 250 ms. */
  readonly read?: Readonly<Record<string, () => Promise<number>>>
}

const sampleEveryMs = 250

export async function measureSick(context: Context, measured: SickMeasured, load: SickLoad): Promise<void> {
  const { arm, service, durationMs, read = {} } = load
  const waiting: { atMs: number; requests: number }[] = []
  const samplings = Object.entries(read).map(([name, take]) => [name, context.sample(sampleEveryMs, take)] as const)
  const { rate, patienceMs: timeoutMs, sloMs } = measured
  const outcome = await context.load(arm, { url: service.origin, rate, durationMs, timeoutMs, sloMs }, seen =>
    waiting.push({ atMs: Math.round(seen.elapsedMs), requests: seen.inflight }),
  )
  const sampled: Record<string, { atMs: number; value: number }[]> = {}
  for (const [name, sampling] of samplings) {
    sampled[name] = (await sampling.stop()).map(({ atMs, value }) => ({ atMs: Math.round(atMs), value }))
  }
  service.check()
  const figures = loadFigures(outcome, durationMs)
  const told = figures.scheduled === figures.ok ? null : await whatIsTold(context, service.origin, timeoutMs)
  const goodput = figures.good / Math.max(1, figures.scheduled)
  measured.runs.push({ arm, figures, goodput, waiting, sampled, told })
  const { allMs, failed } = figures
  const failures = Object.entries(failed).map(([code, count]) => `, ${count} ${code}`)
  const latency = `p99 ${formatMs(allMs.p99)}, longest ${formatMs(allMs.max)}`
  context.line(`${arm}: ${formatPercent(goodput)} good, ${latency}${failures.join('')}`)
}

/** Enough requests for one of them to reach the sick part. */
const asked = 30

/** Status and body of the first answer with an error; null without one. */
async function whatIsTold(context: Context, origin: string, patienceMs: number): Promise<string | null> {
  context.status('asking what a failed caller is told')
  const wait = AbortSignal.any([context.signal, AbortSignal.timeout(patienceMs)])
  const answers = Array.from({ length: asked }, async () => {
    try {
      const response = await fetch(origin, { signal: wait })
      return response.ok ? null : `${response.status} ${(await response.text()).trim()}`
    } catch {
      return null // There was no error answer in time.
    }
  })
  const told = (await Promise.all(answers)).find(text => text !== null) ?? null
  context.signal.throwIfAborted()
  return told
}

export interface SickWords {
  readonly finding: string
  /** The subject of the scenario, which is drawn first: how many answers are good, or the longest wait. */
  readonly claim: 'good answers' | 'longest wait'
  readonly plots?: readonly LinesPlot[]
}

export function sickView(measured: SickMeasured, arms: readonly ScenarioArm[], words: SickWords): View {
  const { runs, rate, sloMs, patienceMs } = measured
  if (runs.length === 0) return { finding: words.finding, tables: [], plots: [] }
  const claims = [goodPlot(measured), longestPlot(measured)]
  return {
    standings: runs.map(run => (words.claim === 'good answers' ? goodStanding(run) : waitStanding(run, measured))),
    finding: words.finding,
    plots: [
      ...(words.claim === 'good answers' ? claims : claims.reverse()),
      overTime(
        {
          title: 'Requests that wait',
          note: 'Each holds a connection and whatever it has taken: a place in a pool, memory, a user.',
        },
        { label: 'requests', unit: 'count' },
        runs,
        run => run.waiting.map(each => [each.atMs, each.requests]),
      ),
      ...(words.plots ?? []),
    ],
    tables: [
      tableOf(
        {
          title: 'What users get',
          note: `${formatRate(rate)} requests/s whatever happens; good is 2xx within ${formatChosen(sloMs)}; after ${formatChosen(patienceMs)} a user has gone. Latencies are of every answer.`,
        },
        arms.flatMap(({ name }) => runs.filter(run => run.arm === name)),
        [
          ['arm', run => run.arm],
          ['good', run => formatPercent(run.goodput)],
          ...(['p50', 'p95', 'p99', 'max'] as const).map(
            figure =>
              [figure === 'max' ? 'longest' : figure, (run: SickRun) => formatMs(run.figures.allMs[figure])] as const,
          ),
          ['gave up', ({ figures: { failed, unsent } }) => formatCount(sumOf(failed) + unsent)],
          ['answers', run => formatCounts(run.figures.answered)],
        ],
      ),
      tableOf({ title: 'What a failed caller is told' }, runs, [
        ['arm', run => run.arm],
        ['the answer', run => run.told ?? 'nothing, as long as anybody waited'],
      ]),
    ],
  }
}

function goodPlot({ runs, sloMs }: SickMeasured): Plot {
  return overTime(
    {
      title: 'Good answers',
      note: `Share of the requests of each second that were answered 2xx within ${formatChosen(sloMs)}.`,
    },
    { label: 'good', unit: 'percent' },
    runs,
    run =>
      run.figures.seconds
        .filter(each => each.scheduled > 0)
        .map(each => [1000 * each.second + 500, (100 * each.good) / each.scheduled]),
  )
}

/** Shows no percentiles of answers: requests that users gave up have no answer, so the worst arm would look best. */
function longestPlot({ runs, patienceMs, limitMs }: SickMeasured): Plot {
  return {
    kind: 'bars',
    title: 'The longest that a user waits',
    note: `Answered, refused or gone: after ${formatChosen(patienceMs)} a user gives up.`,
    y: { label: 'longest wait', unit: 'ms' },
    groups: [{ label: '', bars: runs.map(run => ({ arm: run.arm, value: longestMs(run, patienceMs) })) }],
    levels: [{ value: limitMs, name: `the limit, ${formatChosen(limitMs)}` }],
  }
}

function goodStanding({ arm, goodput }: SickRun): Standing {
  const tone = toneOf(goodput)
  const says = { good: 'holds', fair: 'sags', bad: 'melts' }[tone]
  return { arm, says, tone, figure: formatPercent(goodput), of: 'good answers' }
}

function waitStanding(run: SickRun, { patienceMs }: SickMeasured): Standing {
  const ms = longestMs(run, patienceMs)
  const gone = sumOf(run.figures.failed) > 0
  const told = run.told !== null
  return {
    arm: run.arm,
    says: gone ? 'users give up' : told ? 'users are told' : 'users are served',
    tone: gone ? 'bad' : 'good',
    figure: gone ? formatChosen(ms) : formatMs(ms),
    of: 'longest wait',
  }
}

export const sumOf = (counts: Readonly<Record<string, number>>): number =>
  Object.values(counts).reduce((sum, count) => sum + count, 0)

export function sampledLines(runs: readonly SickRun[], name: string, title: string, label: string): LinesPlot {
  return overTime({ title }, { label, unit: 'count' }, runs, run =>
    (run.sampled[name] ?? []).map(each => [each.atMs, each.value]),
  )
}

export function longestMs(run: SickRun, patienceMs: number): number {
  return sumOf(run.figures.failed) > 0 ? patienceMs : (run.figures.allMs.max ?? 0)
}
