/** Tables, plots and sentences of the tide experiment. Pure. */
import { formatCount, formatMegabytes, formatMs, formatPercent, formatRate } from '../report/format.ts'
import type { Published } from '../experiment/scenario.ts'
import type { LinesPlot, Standing, Table, View } from '../report/result.ts'
import { toneOf } from '../report/standing.ts'
import { tableOf } from '../report/tables.ts'
import { carried, mostCarried, rateOf, type TideMeasured, type TideStep } from './tide-measured.ts'

/** The article counts requests of a closed loop; phones send whether or not they get answers. */
const carriedBy =
  (arm: string) =>
  ({ steps }: TideMeasured): string | undefined => {
    const own = steps.filter(step => step.arm === arm)
    return own.length === 0
      ? undefined
      : `${formatCount(mostCarried(own))} phones, each once a second, in time (${arm})`
  }

export const tidePublished: readonly Published<TideMeasured>[] = [
  { what: 'phones that walked', value: 'about 100', ours: carriedBy('bare') },
  { what: 'with an access logger, ab -n 5000 -c 100', value: '8.85 requests/s', ours: carriedBy('console.log') },
  { what: 'without it', value: '475 requests/s', ours: carriedBy('bare') },
]

export function tideView({ steps, crash }: TideMeasured): View {
  const byArm = [...Map.groupBy(steps, ({ arm }) => arm).values()]
  const missing = steps.reduce((sum, step) => sum + step.missing, crash?.missing ?? 0)
  const lines = (title: string, y: LinesPlot['y'], read: (step: TideStep) => number | null): LinesPlot => ({
    kind: 'lines',
    title,
    x: { label: 'phones, one position a second each', unit: 'count' },
    y,
    series: byArm.map(own => ({ arm: own[0]!.arm, points: own.map(step => [step.phones, read(step)] as const) })),
  })
  return {
    standings: standings(byArm),
    finding: steps.length === 0 ? 'Nothing was measured.' : finding(byArm, missing),
    tables: [stepTable(steps), ...(crash === undefined ? [] : [crashTable(crash)])],
    plots: [
      lines(
        'Positions stored and acknowledged within a second, per second',
        { label: 'positions a second', unit: 'rate' },
        rateOf,
      ),
      {
        ...lines(
          'Latency of what was acknowledged, p99',
          { label: 'latency', unit: 'ms', scale: 'log' },
          ({ p99Ms }) => p99Ms,
        ),
        levels: [{ value: 1000, name: 'in time' }],
      },
      lines('CPU of the process', { label: 'share of one core', unit: 'percent' }, ({ cores }) => cores * 100),
    ],
  }
}

/** Says how many phones each arm serves, and its rate at the largest number of phones that all arms got. */
function finding(byArm: readonly (readonly TideStep[])[], missing: number): string {
  const most = byArm.map(mostCarried)
  const carrying =
    new Set(most).size === 1
      ? `${formatCount(most[0]!)} phones, each sending once a second, in every arm`
      : `${byArm.map((steps, at) => `${formatCount(most[at]!)} (${steps[0]!.arm})`).join(', ')} phones, each sending once a second`
  const beyond = Math.min(...byArm.map(steps => steps.at(-1)!.phones))
  const then = byArm.map(steps => {
    const step = steps.find(({ phones }) => phones === beyond)!
    return `${step.arm} ${formatRate(rateOf(step))}`
  })
  const lost = missing === 0 ? 'No acknowledged position is' : `${formatCount(missing)} acknowledged positions are`
  return `One process carries ${carrying}. With ${formatCount(beyond)} it stores this many positions a second in time: ${then.join(', ')}. ${lost} missing.`
}

/** Judges an arm by the share of its own best rate that remains with more phones. */
function standings(byArm: readonly (readonly TideStep[])[]): readonly Standing[] {
  return byArm.map(steps => {
    const best = steps.reduce((a, b) => (rateOf(b) > rateOf(a) ? b : a))
    const beyond = steps.slice(steps.indexOf(best))
    const toneAt = (step: TideStep) => toneOf(rateOf(best) === 0 ? 0 : rateOf(step) / rateOf(best))
    const last = beyond.at(-1)!
    const firstThat = (tone: Standing['tone']) => beyond.find(step => toneAt(step) === tone)
    const worst = firstThat('bad') ?? firstThat('fair') ?? last
    const tone = toneAt(worst)
    const says = { good: 'holds to', fair: 'sags at', bad: 'melts at' }[tone]
    return {
      arm: last.arm,
      says: `${says} ${formatCount(worst.phones)}`,
      tone,
      figure: `${formatRate(rateOf(last))}/s`,
      of: `in time at ${formatCount(last.phones)}`,
    }
  })
}

function stepTable(steps: readonly TideStep[]): Table {
  return tableOf(
    {
      title: 'Phones, one position a second each',
      note: 'acknowledged: the COMMIT has returned; in time: within a second of the due time; missing: acknowledged, but not in the table',
    },
    steps,
    [
      ['phones', step => formatCount(step.phones)],
      ['arm', step => step.arm],
      [
        'in time',
        step => `${formatRate(rateOf(step))}/s${carried(step) ? '' : ` (${formatPercent(step.inTime / step.due)})`}`,
      ],
      ['acknowledged', step => formatCount(step.acknowledged)],
      ['503', step => formatCount(step.shed)],
      ['failed', step => formatCount(step.failed)],
      ['p50', step => formatMs(step.p50Ms)],
      ['p99', step => formatMs(step.p99Ms)],
      ['CPU', step => formatPercent(step.cores)],
      ['rss', step => formatMegabytes(step.peakRssBytes)],
      ['missing', step => formatCount(step.missing)],
    ],
  )
}

function crashTable({ phones, due, acknowledged, missing, stored }: NonNullable<TideMeasured['crash']>): Table {
  return {
    title: 'The service is killed (SIGKILL) and PostgreSQL crashes (SIGQUIT), both under load and both come back',
    note: 'positions that were stored but not acknowledged lost their answers in the crash: the phone sends them again, which makes no duplicates',
    columns: ['phones', 'sent', 'acknowledged', 'in the table', 'acknowledged, missing'],
    rows: [{ cells: [phones, due, acknowledged, stored, missing].map(formatCount) }],
  }
}
