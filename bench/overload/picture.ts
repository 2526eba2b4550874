/**
 * One suite as a plot: share of the capacity that is still served at each load, on a logarithmic axis (0.7 to 300
 * times), with the curve that no server can beat. Pure.
 */
import type { Row } from '../../packages/lab/src/melt/measured.ts'
import { linesOver } from '../../packages/lab/src/melt/view.ts'
import { pictureSvg } from '../../packages/lab/src/report/plot-svg.ts'
import type { ScenarioArm } from '../../packages/lab/src/report/result.ts'

type Arms = readonly Pick<ScenarioArm, 'name' | 'kind'>[]

/** `ideal` is the best possible share at a load. */
export function pictureOf(
  title: string,
  arms: Arms,
  rows: readonly Row[],
  ideal: (multiple: number) => number,
): string {
  const loads = [...new Set(rows.map(row => row.multiple))].sort((a, b) => a - b)
  const [least, most] = [loads[0]!, loads.at(-1)!]
  const along = Array.from({ length: 81 }, (_, i) => least * (most / least) ** (i / 80))
  return pictureSvg(
    {
      kind: 'lines',
      title: 'Answers within 1 s, share of what the bare app can do at its best',
      x: { label: 'offered load, multiples of the capacity', unit: 'multiple', scale: 'log', ticks: loads },
      y: { label: 'of the capacity', unit: 'percent' },
      series: linesOver(rows, row => 100 * row.ofCapacity),
      guide: { name: 'ideal for the measured cost of a shed', points: along.map(load => [load, 100 * ideal(load)]) },
    },
    arms.map(arm => ({ ...arm, what: '' })),
    title,
  )
}
