/** The loads at which the slider stops, as multiples of the capacity, and the check of a requested load. Pure. */

const LEAST_LOAD = 0.5
/** Stops are close together where an app melts, and are round numbers. */
const STOPS: readonly number[] = [
  ...[0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.2, 1.5, 1.8, 2, 2.5, 3, 3.5],
  ...[4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 18, 20],
]
/** One generator core reliably sends this many requests per second to each of two services. */
const MOST_RATE = 20_000

/** The stops that the generator can reach for this capacity; always at least the lowest. */
export const stopsFor = (capacity: number): readonly number[] =>
  STOPS.filter(stop => stop === LEAST_LOAD || stop * capacity <= MOST_RATE)

/** @throws RangeError for anything but a number from the lowest stop to the highest */
export function loadOf(given: unknown, stops: readonly number[]): number {
  const [least, most] = [stops[0]!, stops.at(-1)!]
  if (typeof given === 'number' && given >= least && given <= most) {
    // Figures are stored per load, so only a limited number of loads is possible.
    return stops.reduce((nearest, stop) => (Math.abs(stop - given) < Math.abs(nearest - given) ? stop : nearest))
  }
  throw new RangeError(`load must be a number from ${least} to ${most}, got ${JSON.stringify(given) ?? 'nothing'}`)
}
