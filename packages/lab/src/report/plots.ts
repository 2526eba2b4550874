/** Plots that several commands and scenarios draw. Pure. */
import type { LatencyFigures } from './load-figures.ts'
import type { BarsPlot, LinesPlot, Unit } from './result.ts'

interface Words {
  readonly title: string
  readonly note?: string
}

/** One line per run; times are milliseconds. */
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

/** How long answers took, one group for each figure. */
export function latencyBars<Run extends { readonly arm: string }>(
  words: Words,
  figures: readonly (keyof LatencyFigures)[],
  runs: readonly Run[],
  of: (run: Run, figure: keyof LatencyFigures) => number | null,
  limitMs: number,
): BarsPlot {
  return {
    kind: 'bars',
    ...words,
    y: { label: 'latency', unit: 'ms' },
    groups: figures.map(figure => ({
      label: figure === 'max' ? 'longest' : figure,
      bars: runs.flatMap(run => {
        const value = of(run, figure)
        return value === null ? [] : [{ arm: run.arm, value }]
      }),
    })),
    levels: [{ value: limitMs, name: 'the limit' }],
  }
}
