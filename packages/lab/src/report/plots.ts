/** Plots shared by several commands and scenarios. Pure. */
import type { Axis, BarsPlot, LinesPlot } from './result.ts'

type Words = Pick<LinesPlot, 'title' | 'note' | 'fold'>

export function linesBy<Run extends { readonly arm: string }>(
  words: Words,
  x: Axis,
  y: Axis,
  runs: readonly Run[],
  points: (run: Run) => LinesPlot['series'][number]['points'],
): LinesPlot {
  return { kind: 'lines', ...words, x, y, series: runs.map(run => ({ arm: run.arm, points: points(run) })) }
}

export function overTime<Run extends { readonly arm: string }>(
  words: Words,
  y: Axis,
  runs: readonly Run[],
  points: (run: Run) => readonly (readonly [atMs: number, value: number | null])[],
): LinesPlot {
  return linesBy(words, { label: 'time', unit: 's' }, y, runs, run =>
    points(run).map(([atMs, value]) => [atMs / 1000, value] as const),
  )
}

type Group = readonly [label: string, values: readonly (readonly [arm: string, value: number | null])[]]

export function groupedBars(words: Words, y: BarsPlot['y'], groups: readonly Group[]): BarsPlot {
  return {
    kind: 'bars',
    ...words,
    y,
    groups: groups.map(([label, values]) => ({
      label,
      bars: values.flatMap(([arm, value]) => (value === null ? [] : [{ arm, value }])),
    })),
  }
}
