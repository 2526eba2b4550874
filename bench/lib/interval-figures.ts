/** Judges whether the interval that the lab reports contains the truth. Only bounds of the truth are known. Pure. */

export const FIGURES = ['p50', 'p90', 'p99'] as const
export type Of<T> = Readonly<Record<(typeof FIGURES)[number], T>>
/** Lower and upper end, ms. */
export type Range = readonly [number, number]

/** `holds`: each interval overlaps its bounds. `contains`: each contains both of them. */
export function judged(interval: Of<Range>, truth: Of<Range>): { readonly holds: boolean; readonly contains: boolean } {
  const all = (is: (interval: Range, truth: Range) => boolean): boolean =>
    FIGURES.every(figure => is(interval[figure], truth[figure]))
  return {
    holds: all((ours, bounds) => ours[0] <= bounds[1] && ours[1] >= bounds[0]),
    contains: all((ours, bounds) => ours[0] <= bounds[0] && ours[1] >= bounds[1]),
  }
}
