/** The value below which this share of the values lies, without interpolation. Pure. */
export const quantile = (values: readonly number[], share: number): number =>
  [...values].sort((a, b) => a - b)[Math.floor((values.length - 1) * share + 0.5)]!
