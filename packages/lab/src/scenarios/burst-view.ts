/** The expectations and the view of the burst, beside the published figures. Pure. */
import { expectation } from '../experiment/expectation.ts'
import type { Expectation, Published } from '../experiment/scenario.ts'
import type { MeltMeasured, Row } from '../melt/measured.ts'
import { formatChosen, formatMs, formatMultiple, formatPercent, formatRate } from '../report/format.ts'

const above =
  (arm: string) =>
  ({ rows }: MeltMeasured): Row[] =>
    rows.filter(row => row.arm === arm && row.multiple > 1)
const keptAt = (rows: readonly Row[]): string =>
  rows.map(row => `${formatPercent(row.ofCapacity)} at ${formatMultiple(row.multiple)}`).join(', ')

export const burstExpects: readonly Expectation<MeltMeasured>[] = [
  expectation('bare: goodput falls towards zero above the capacity', above('bare'), rows => [
    rows.at(-1)!.ofCapacity < 0.1,
    keptAt(rows),
  ]),
  expectation(
    'protected: at least 95 % of the capacity at every load above it, admitted p99 at most 200 ms',
    above('protected'),
    rows => {
      const p99 = Math.max(...rows.map(row => row.admittedMs.p99 ?? Number.POSITIVE_INFINITY))
      return [rows.every(row => row.ofCapacity >= 0.95) && p99 <= 200, `${keptAt(rows)}; p99 ${formatMs(p99)}`]
    },
  ),
]

/** `ours`: the result of an arm at 1200/s here. */
export const publishedAt1200 = <Measured>(
  ours: (measured: Measured, arm: string) => string | undefined,
): Published<Measured>[] => [
  {
    what: 'unprotected at 1200/s',
    value: '40 s average latency, over 80 % TCP failures',
    ours: measured => ours(measured, 'bare'),
  },
  {
    what: 'shedding by event-loop lag',
    value: 'average mostly under 10 s, immediate 503s',
    ours: measured => ours(measured, 'toobusy-js'),
  },
]

export const burstPublished: readonly Published<MeltMeasured>[] = publishedAt1200(atSixTimes)

/** The article's 40 s cannot appear here, because these clients give up after a few seconds. */
function atSixTimes({ rows, setup }: MeltMeasured, arm: string): string | undefined {
  const row = rows.find(each => each.arm === arm && each.multiple === 6)
  if (row === undefined) return undefined
  const lost = `${formatPercent(row.failed / row.offered)} failed or had no answer after ${formatChosen(setup.timeoutMs)}`
  const shed =
    row.shed === 0 ? '' : `, ${formatPercent(row.shed / row.offered)} got a 503 (p99 ${formatMs(row.shedMs.p99)})`
  return `at ${formatRate(row.offered)}/s ${lost}${shed}`
}
