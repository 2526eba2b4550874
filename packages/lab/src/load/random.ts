/** A small seeded random number generator (sfc32), so that a seed gives the same arrivals everywhere. Pure. */

/** Returns a function that yields numbers in [0, 1). */
export const seededRandom = (seed: number): (() => number) => {
  let a = 0x9e3779b9 | 0
  let b = seed | 0
  let c = Math.floor(seed / 2 ** 32) | 0
  let d = 1
  const next = (): number => {
    const t = (((a + b) | 0) + d) | 0
    d = (d + 1) | 0
    a = b ^ (b >>> 9)
    b = (c + (c << 3)) | 0
    c = ((c << 21) | (c >>> 11)) + t
    c |= 0
    return (t >>> 0) / 2 ** 32
  }
  // The first outputs still resemble the seed.
  for (let i = 0; i < 15; i++) next()
  return next
}
