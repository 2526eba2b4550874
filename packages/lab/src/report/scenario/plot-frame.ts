/** Where things go in a plot: scales, ticks, label distances. Pure numbers, no SVG. */
import { ticksUpTo } from '../svg.ts'
import type { Axis } from './result.ts'

export interface Scale {
  /** From a value to a pixel. */
  readonly to: (value: number) => number
  readonly ticks: readonly number[]
}

/** Pixels `from` (the lowest value) to `until` (the highest). */
export function scaleOf(axis: Axis, values: readonly number[], from: number, until: number): Scale {
  if (axis.scale === 'log') return logScale(values, from, until)
  // A share is seen against the whole.
  return linearScale(axis.unit === 'percent' ? [...values, 100] : values, from, until)
}

const roomAbove = 1.08

/** From zero, with some room above the highest value. */
function linearScale(values: readonly number[], from: number, until: number): Scale {
  const top = Math.max(0, ...values) * roomAbove || 1
  return { to: value => from + ((until - from) * value) / top, ticks: ticksUpTo(top) }
}

/** Whole decades around the values. */
function logScale(values: readonly number[], from: number, until: number): Scale {
  const positive = values.filter(value => value > 0)
  const low = Math.floor(Math.log10(positive.length === 0 ? 1 : Math.min(...positive)))
  const high = Math.max(low + 1, Math.ceil(Math.log10(positive.length === 0 ? 10 : Math.max(...positive) * 1.02)))
  const to = (value: number): number => {
    const log = Math.max(low, Math.log10(Math.max(value, Number.MIN_VALUE)))
    return from + ((until - from) * (log - low)) / (high - low)
  }
  return { to, ticks: Array.from({ length: high - low + 1 }, (_, at) => 10 ** (low + at)) }
}

/** An axis of time or another quantity along the bottom: exactly as long as its values. */
export function bottomScale(values: readonly number[], from: number, until: number): Scale {
  const low = values.length === 0 ? 0 : Math.min(0, ...values)
  const high = values.length === 0 ? 1 : Math.max(...values)
  const span = high - low || 1
  return { to: value => from + ((until - from) * (value - low)) / span, ticks: ticksUpTo(high || 1) }
}

/** Moves labels at least `gap` apart between `top` and `bottom`, keeping their order. */
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
