/** The findings of a live run in words, tables and plots; shared with melt where they are the same. Pure. */
import type { SecondResult } from '../melt/measured.ts'
import { whyNoVerdict } from '../melt/no-verdict.ts'
import { standings } from '../melt/standings.ts'
import { armColumn, finding, goodputPlot, loadColumns } from '../melt/view.ts'
import { formatChosen, formatMs, formatMultiple, formatRate } from '../report/format.ts'
import { linesBy } from '../report/plots.ts'
import type { Axis, LinesPlot, ScenarioArm, Standing, View } from '../report/result.ts'
import { NOTHING_MEASURED } from '../report/standing.ts'
import { type Columns, tableOf } from '../report/tables.ts'
import { LEAST_SECONDS } from './counted-seconds.ts'
import type { LiveMeasured, LiveRow, LiveSecond } from './measured.ts'

type Arms = readonly Pick<ScenarioArm, 'name' | 'kind'>[]
const judged = (rows: readonly LiveRow[]): readonly LiveRow[] => rows.filter(({ seconds }) => seconds >= LEAST_SECONDS)
const TOO_SHORT = `No load was held for ${LEAST_SECONDS} s after it had settled: too short to judge.`

type Known = LiveMeasured & { readonly capacity: NonNullable<LiveMeasured['capacity']> }

export function liveView(measured: LiveMeasured, arms: Arms): View {
  const { capacity, rows, seconds } = measured
  if (capacity === null || seconds.length === 0) return NOTHING_MEASURED
  const courses = overTime(seconds, arms)
  if (rows.length === 0) return { finding: TOO_SHORT, tables: [], plots: courses }
  const known = { ...measured, capacity }
  return {
    standings: standingsOf(known, arms),
    unjudged: whyUnjudged(capacity, Math.max(...rows.map(({ goodput }) => goodput))),
    finding: judged(rows).length > 0 ? finding(judged(rows), arms) : TOO_SHORT,
    tables: [figuresTable(known)],
    plots: [...overLoad(known), ...courses],
  }
}

/**
 * Says why there is no verdict. `best`: the highest goodput at any load. A capacity that the user gave is not doubted.
 */
export function whyUnjudged(capacity: Known['capacity'], best: number): string | undefined {
  if (capacity.given) return undefined
  const { rate, after, whyNoAfter } = capacity
  if (whyNoAfter !== undefined) return `the capacity could not be measured again: ${whyNoAfter}`
  return whyNoVerdict({ ...capacity, over: [rate, after], best })
}

/** The verdict on an arm whose process has ended is only that it died. */
function standingsOf({ rows, died }: Known, arms: Arms): readonly Standing[] {
  // A process that has ended may have too few seconds to judge, and its end is what matters.
  const shown = rows.filter(row => died[row.arm] !== undefined || judged([row]).length > 0)
  const kept = shown.map(row => ({ ...row, died: false }))
  return standings(kept, arms).map(standing => {
    const death = died[standing.arm]
    return death === undefined ? standing : { ...standing, says: `dies at ${formatMultiple(death.load)}`, tone: 'bad' }
  })
}

function figuresTable({ rows, setup, capacity }: Known): View['tables'][number] {
  const words = {
    title: 'Figures, by load',
    note:
      `Goodput: 2xx/3xx within ${formatChosen(setup.sloMs)} of the time at which they were due. Capacity: ` +
      `${foundInWords(capacity)}. Of each load, the seconds from the third after it was set. ` +
      `${setup.request}; ${setup.connections}; ${setup.cores}.`,
  }
  const columns: Columns<LiveRow> = [
    armColumn(rows),
    ...loadColumns,
    ['late /s', row => formatRate(row.late + row.shedLate)],
    ['lost /s', row => formatRate(row.failed + row.unsent + row.otherStatus)],
    ['admitted p50', row => formatMs(row.admittedMs.p50)],
    ['shed p99', row => formatMs(row.shedMs.p99)],
    ['seconds', row => String(row.seconds)],
  ]
  return tableOf(words, rows, columns)
}

const foundInWords = ({ rate, given, after }: Known['capacity']): string => {
  if (given) return `${formatRate(rate)}/s, as given`
  const again = after === null ? 'not measured after it' : `${formatRate(after)}/s after it, of processes started anew`
  return `${formatRate(rate)}/s before the load, found in a closed loop on the bare app beside the protected one; ${again}`
}

function overLoad({ rows, setup, capacity }: Known): LinesPlot[] {
  // A single load is a point and cannot make a line.
  if (new Set(rows.map(row => row.multiple)).size < 2) return []
  const { rate } = capacity
  return [goodputPlot(rows, setup.sloMs, { rate, before: rate })]
}

function overTime(seconds: readonly LiveSecond[], arms: Arms): LinesPlot[] {
  const fold = 'Second by second'
  const x = { label: 'when the request was due', unit: 's' } as const
  const sides = arms.map(({ name }) => ({ arm: name }))
  const plot = (title: string, y: Axis, of: (side: SecondResult) => number | null): LinesPlot =>
    linesBy({ title, fold }, x, y, sides, ({ arm }) => seconds.map(each => [each.second, of(each.sides[arm]!)]))
  const latency = { label: 'p99, log scale', unit: 'ms', scale: 'log' } as const
  const offered = seconds.flatMap(({ second, load }) => (load === null ? [] : [[second, load] as const]))
  return [
    plot('Goodput, second by second', { label: 'good answers per second', unit: 'rate' }, side => side.goodput),
    plot('Latency of admitted requests', latency, side => side.admittedP99Ms),
    // The offered load is the same for both sides, so it belongs to neither.
    ...(offered.length === 0
      ? []
      : [
          {
            kind: 'lines' as const,
            title: 'Offered load',
            fold,
            x,
            y: { label: 'multiples of the capacity', unit: 'multiple' as const },
            series: [],
            guide: { name: 'the same for both', points: offered },
          },
        ]),
  ]
}
