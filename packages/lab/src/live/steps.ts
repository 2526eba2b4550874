/** The loads that the slider stops at, as multiples of the capacity, and what may be asked for. Pure. */

const LEAST_LOAD = 0.5
/** Close together where an app melts, and at figures that can be said aloud. */
const STOPS: readonly number[] = [
  ...[0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.2, 1.5, 1.8, 2, 2.5, 3, 3.5],
  ...[4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 18, 20],
]
/** What one core of a generator sends to two services for certain, requests a second to each. */
const MOST_RATE = 20_000

/** Those that this generator can offer of a capacity; the lowest one always. */
export const stopsFor = (capacity: number): readonly number[] =>
  STOPS.filter(stop => stop === LEAST_LOAD || stop * capacity <= MOST_RATE)

/** @throws RangeError for anything but a number from the lowest stop to the highest */
export function loadOf(given: unknown, stops: readonly number[]): number {
  const [least, most] = [stops[0]!, stops.at(-1)!]
  if (typeof given === 'number' && given >= least && given <= most) {
    // Figures are kept by load, so there are only so many of them.
    return stops.reduce((nearest, stop) => (Math.abs(stop - given) < Math.abs(nearest - given) ? stop : nearest))
  }
  throw new RangeError(`load must be a number from ${least} to ${most}, got ${JSON.stringify(given) ?? 'nothing'}`)
}
