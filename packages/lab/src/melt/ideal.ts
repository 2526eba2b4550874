/** The goodput that no server can beat. Pure. */

/** All of the load up to the capacity, and the capacity beyond. */
export const idealAt =
  (capacity: number) =>
  (multiple: number): number =>
    Math.min(1, multiple) * capacity

/** Over these loads, straight between them as the measured lines are, so that neither crosses the other by its bends. */
export function idealLine(
  loads: readonly number[],
  ideal: (multiple: number) => number,
): readonly (readonly [number, number])[] {
  return loads.map(load => [load, ideal(load)] as const)
}
