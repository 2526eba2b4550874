/** The geometry of a plot: scales, ticks, places of labels. Pure numbers, no SVG. */
import type { Axis } from './result.ts'

export interface Scale {
  readonly to: (value: number) => number
  readonly ticks: readonly number[]
}

const roomAbove = 1.08

/** A long run has more values than `Math.min(...values)` can take as arguments. */
const least = (values: readonly number[]): number => values.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY)
const most = (values: readonly number[]): number => values.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY)

/** A scale from pixel `from`, which shows zero or a whole decade, to `until`, with room beyond the highest value. */
export function scaleOf(axis: Axis, values: readonly number[], from: number, until: number): Scale {
  if (axis.scale === 'log') {
    const positive = values.filter(value => value > 0)
    const low = Math.floor(Math.log10(positive.length === 0 ? 1 : least(positive)))
    const high = Math.max(low + 1, Math.ceil(Math.log10(positive.length === 0 ? 10 : most(positive) * 1.02)))
    return logarithmic(low, high, from, until)
  }
  // A scale of percentages reaches 100 %.
  const top = Math.max(most(values), axis.unit === 'percent' ? 100 : 0) * roomAbove || 1
  return { to: value => from + ((until - from) * value) / top, ticks: ticksUpTo(top) }
}

/** A horizontal scale that ends at the highest value. */
export function bottomScale(axis: Axis, values: readonly number[], from: number, until: number): Scale {
  const positive = values.filter(value => value > 0)
  if (axis.scale === 'log' && positive.length > 0) {
    const scale = logarithmic(Math.log10(least(positive)), Math.log10(most(positive)), from, until)
    return { ...scale, ticks: axis.ticks ?? scale.ticks }
  }
  const low = Math.min(0, least(values))
  const high = values.length === 0 ? 1 : most(values)
  const to = (value: number): number => from + ((until - from) * (value - low)) / (high - low || 1)
  return { to, ticks: axis.ticks ?? ticksUpTo(high || 1) }
}

function logarithmic(low: number, high: number, from: number, until: number): Scale {
  const to = (value: number): number => {
    if (high === low) return (from + until) / 2
    const log = Math.max(low, Math.log10(Math.max(value, Number.MIN_VALUE)))
    return from + ((until - from) * (log - low)) / (high - low)
  }
  const first = Math.ceil(low)
  return { to, ticks: Array.from({ length: Math.floor(high) - first + 1 }, (_, at) => 10 ** (first + at)) }
}

/** Round steps from 0 up to at most `most`: 1, 2 or 5 times a power of ten. */
export function ticksUpTo(most: number): number[] {
  const rough = Math.max(most, 1e-9) / 5
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = [1, 2, 5, 10].map(factor => factor * power).find(candidate => candidate >= rough)!
  const count = Math.floor(most / step + 1e-9)
  return Array.from({ length: count + 1 }, (_, at) => Number((at * step).toPrecision(12)))
}

/** Omits ticks whose labels would touch, from the right, so that the last one keeps its label. */
export function withoutTouching(ticks: readonly number[], to: (value: number) => number, gap: number): number[] {
  const kept: number[] = []
  for (const tick of ticks.toReversed()) if (kept.length === 0 || to(kept[0]!) - to(tick) >= gap) kept.unshift(tick)
  return kept
}

/** Moves labels that would touch to further rows, so that all are shown. */
export function rowsWithoutTouching<T extends { readonly at: number }>(
  labels: readonly T[],
  room: (label: T) => number,
): (T & { readonly row: number })[] {
  const ends: number[] = []
  return labels
    .toSorted((a, b) => a.at - b.at)
    .map(label => {
      const half = room(label) / 2
      const free = ends.findIndex(end => end <= label.at - half)
      const row = free === -1 ? ends.length : free
      ends[row] = label.at + half
      return { ...label, row }
    })
}

/** Keeps the first, lowest, highest and last point of each pixel column: hours of data make no larger SVG. */
export function thinned(points: readonly (readonly [x: number, y: number])[]): (readonly [x: number, y: number])[] {
  return [...Map.groupBy(points, ([x]) => Math.round(x)).values()].flatMap(column => {
    const [first, last] = [column[0]!, column.at(-1)!]
    const lowest = column.reduce((a, b) => (b[1] < a[1] ? b : a))
    const highest = column.reduce((a, b) => (b[1] > a[1] ? b : a))
    return column.filter(point => [first, lowest, highest, last].includes(point))
  })
}

/** Spaces labels at least `gap` apart between `top` and `bottom`, and preserves their order. */
export function keepApart<T extends { readonly y: number }>(
  labels: readonly T[],
  top: number,
  bottom: number,
  gap: number,
): T[] {
  let limit = bottom
  const upwards = labels
    .toSorted((a, b) => b.y - a.y)
    .map(label => {
      const y = Math.min(label.y, limit)
      limit = y - gap
      return { ...label, y }
    })
  limit = top
  return upwards.toReversed().map(label => {
    const y = Math.max(label.y, limit)
    limit = y + gap
    return { ...label, y }
  })
}

type Named = Readonly<Record<'x' | 'y' | 'width', number>>
export type Box = Readonly<Record<'left' | 'right' | 'top' | 'bottom', number>>

interface Place {
  readonly x: number
  /** Vertical middle of the letters. */
  readonly y: number
  readonly anchor: 'start' | 'end'
}

/** Half the height of a name, half the size of a mark, and how far a name is from its mark; px. */
const HALF_NAME = 9
const HALF_MARK = 7
const GAP = 12
/** Names are tried up to this many rows above and below their points. */
const MOST_ROWS = 9

const touch = (a: Box, b: Box): boolean => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom

/**
 * Puts each name beside its point, or in the nearest row above or below with room. Earlier points have precedence.
 * `others`: further boxes that no name may cover.
 */
export function besidePoints(points: readonly Named[], within: Box, others: readonly Box[] = []): readonly Place[] {
  const taken: Box[] = points.map(({ x, y }) => ({
    ...{ left: x - HALF_MARK, right: x + HALF_MARK, top: y - HALF_MARK, bottom: y + HALF_MARK },
  }))
  taken.push(...others)
  return points.map(point => {
    const tried = placesOf(point).map(place => ({ place, box: boxOf(place, point.width) }))
    const inside = tried.filter(
      ({ box }) =>
        box.left >= within.left && box.right <= within.right && box.top >= within.top && box.bottom <= within.bottom,
    )
    const { place, box } = inside.find(each => !taken.some(other => touch(each.box, other))) ?? inside[0] ?? tried[0]!
    taken.push(box)
    return place
  })
}

function placesOf({ x, y }: Named): Place[] {
  return Array.from({ length: 2 * MOST_ROWS + 1 }, (_, at) => Math.ceil(at / 2) * (at % 2 === 0 ? 1 : -1)).flatMap(
    row => [
      { x: x + GAP, y: y + 2 * HALF_NAME * row, anchor: 'start' as const },
      { x: x - GAP, y: y + 2 * HALF_NAME * row, anchor: 'end' as const },
    ],
  )
}

function boxOf({ x, y, anchor }: Place, width: number): Box {
  const left = anchor === 'start' ? x : x - width
  return { left, right: left + width, top: y - HALF_NAME, bottom: y + HALF_NAME }
}
