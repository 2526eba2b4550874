/** The expectations of the door scenario. Pure. */
import { expectation } from '../experiment/expectation.ts'
import type { Expectation } from '../experiment/scenario.ts'
import { formatCount, formatMs, formatPercent } from '../report/format.ts'
import { cellsOf, type DoorCell, type DoorMeasured } from './door-measured.ts'

const LONGEST_MS = 1000
const P99_MS = 250
/** Capacities that are measured some seconds apart differ by up to this share. */
const ALIKE = 0.02

/** The load, and the share of the capacity to keep at it; both are lower if HAProxy and the load share a core. */
const barOf = ({ ownCores }: DoorMeasured): { readonly load: number; readonly kept: number } =>
  ownCores ? { load: 100, kept: 0.97 } : { load: 50, kept: 0.9 }

const told = (measured: DoorMeasured): readonly DoorCell[] => cellsOf(measured).filter(({ arm }) => arm === 'told')
const atBar = (measured: DoorMeasured): DoorCell | undefined =>
  told(measured).find(({ load }) => load === barOf(measured).load)

export const doorExpects: readonly Expectation<DoorMeasured>[] = [
  expectation(
    'told: at least 97 % of the capacity at 100x; 90 % at 50x where HAProxy and the load share a core',
    atBar,
    ({ kept, load }, measured) => [kept >= barOf(measured).kept, `${formatPercent(kept)} at ${load}x`],
  ),
  expectation(`told: p99 of the good answers is at most ${P99_MS} ms there`, atBar, ({ p99Ms, load }) => [
    p99Ms !== null && p99Ms <= P99_MS,
    `${formatMs(p99Ms)} at ${load}x`,
  ]),
  expectation('told: every request is answered within a second, at each load', told, cells => [
    cells.every(({ longestMs, noAnswer }) => longestMs <= LONGEST_MS && noAnswer === 0),
    cells
      .map(each => `longest ${formatMs(each.longestMs)}, ${formatCount(each.noAnswer)} unanswered at ${each.load}x`)
      .join('; '),
  ]),
  expectation('told: no other arm keeps over two points more, at any load', told, (ours, measured) => {
    const cells = cellsOf(measured)
    return [
      ours.every(({ kept, load }) => cells.every(other => other.load !== load || kept >= other.kept - ALIKE)),
      cells.map(({ arm, kept, load }) => `${arm} ${formatPercent(kept)} at ${load}x`).join(', '),
    ]
  }),
]
