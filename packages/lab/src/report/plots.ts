/** Plots shared by several commands and scenarios. Pure. */
import type { BarsPlot, LinesPlot, Unit } from './result.ts'

interface Words {
  readonly title: string
  readonly note?: string
}

export function overTime<Run extends { readonly arm: string }>(
  words: Words,
  y: { readonly label: string; readonly unit: Unit },
  runs: readonly Run[],
  points: (run: Run) => readonly (readonly [atMs: number, value: number | null])[],
): LinesPlot {
  return {
    kind: 'lines',
    ...words,
    x: { label: 'time', unit: 's' },
    y,
    series: runs.map(run => ({
      arm: run.arm,
      points: points(run).map(([atMs, value]) => [atMs / 1000, value] as const),
    })),
  }
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
