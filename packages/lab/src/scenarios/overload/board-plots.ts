/** The pictures of a workload of the scoreboard: goodput against p99, and goodput against the load. Pure. */
import { ABOVE_IDEAL, linesOver } from '../../melt/view.ts'
import { formatMultiple } from '../../report/format.ts'
import type { LinesPlot, PointsPlot } from '../../report/result.ts'
import { type Board, loadsOf, shownLoads } from './board.ts'

/** A panel for each load that the page shows. */
export function againstP99(board: Board): PointsPlot {
  return {
    kind: 'points',
    title: 'Goodput against p99',
    note: `Better is up and to the left. An arm in the shaded corner is ahead of meltproof. ${ABOVE_IDEAL}`,
    x: { label: 'p99 of admitted requests (log)', unit: 'ms', scale: 'log' },
    y: { label: 'kept', unit: 'percent' },
    panels: shownLoads(board).map(load => ({
      label: `at ${formatMultiple(load)}`,
      ideal: { value: 100 * board.best(load), name: 'ideal' },
      points: board.rows
        .filter(row => row.multiple === load)
        .map(row => ({ arm: row.arm, x: row.admittedMs.p99, y: 100 * board.kept(row) })),
    })),
  }
}

/** The share that is still served at each load, on a logarithmic axis, with the curve that no server can beat. */
export function keptPlot(board: Board): LinesPlot {
  const loads = loadsOf(board)
  return {
    kind: 'lines',
    title: 'Answers within 1 s, share of what can be had',
    note: ABOVE_IDEAL,
    x: { label: 'offered load, multiples of the capacity', unit: 'multiple', scale: 'log', ticks: loads },
    y: { label: 'kept', unit: 'percent' },
    series: linesOver(board.rows, row => 100 * board.kept(row)),
    guide: {
      name: 'ideal for the measured cost of a shed',
      points: loads.map(load => [load, 100 * board.best(load)]),
    },
  }
}
