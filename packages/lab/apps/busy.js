/**
 * A busy loop counted in iterations, the "work" of the lab's example apps.
 *
 * Iterations and not wall time: a loop that spins until a clock says stop does *less* work when the core is shared, and
 * so hides contention. Every process of one run must therefore spin by the same count: `meltlab` calibrates once, on
 * the core the app will run on, and hands the count down as MELTLAB_SPIN_PER_MS; without it the app calibrates itself.
 */

/** Kept outside, so that the compiler may not throw the loop away. */
let sink = 1

/**
 * Xorshift, whose every step is a 32-bit operation. With a sum or a product in it V8 compiles the loop now with integers
 * and now with floating point, up to six times apart, and short work is not as long as the calibration says.
 * @param {number} iterations
 */
export function spin(iterations) {
  let x = sink
  for (let i = 0; i < iterations; i++) {
    x ^= x << 13
    x ^= x >> 17
    x ^= x << 5
  }
  sink = x
}

/**
 * Iterations that take one millisecond on this core: the best of many short trials, because whatever interrupts a trial
 * can only make it look slower.
 */
export function calibrate() {
  const iterations = 200_000
  spin(iterations * 20) // long enough for the optimising compiler to have replaced the loop
  let best = 0
  for (let trial = 0; trial < 200; trial++) {
    const start = process.hrtime.bigint()
    spin(iterations)
    const ms = Number(process.hrtime.bigint() - start) / 1e6
    best = Math.max(best, iterations / ms)
  }
  return Math.round(best)
}

/** The calibration every arm of this run shares, or our own. */
export function spinPerMs() {
  const given = Number(process.env.MELTLAB_SPIN_PER_MS)
  return Number.isFinite(given) && given > 0 ? given : calibrate()
}
