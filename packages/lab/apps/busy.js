/**
 * A busy loop counted in iterations: the "work" of the lab's example apps.
 *
 * It counts iterations, because a loop that spins until a time does *less* work on a shared core, and so hides
 * contention. All processes of a run must spin by the same count: `meltlab` calibrates once, on the core of the app,
 * and passes the count in MELTLAB_SPIN_PER_MS. Without this variable the app calibrates itself.
 */

/** Stored outside the function, so that the compiler cannot remove the loop. */
let sink = 1

/** Rounds of xorshift in the body of the loop. */
const ROUNDS = 16

/**
 * Xorshift, in which every step is a 32-bit operation. V8 compiles a loop with a sum or a product sometimes for
 * integers and sometimes for floating point. Their speeds differ up to sixfold, so short work would not last as long as
 * calibrated.
 *
 * The rounds are written out, so that the function has more bytecode than V8 inlines (460 bytes,
 * `--max-inlined-bytecode-size`). Inlined into a caller after some thousand calls, the loop took a third longer than
 * calibrated.
 * @param {number} iterations rounded up to a multiple of ROUNDS
 */
export function spin(iterations) {
  let x = sink
  for (let i = 0; i < iterations; i += ROUNDS) {
    x ^= x << 13
    x ^= x >> 17
    x ^= x << 5
    x ^= x << 13
    x ^= x >> 17
    x ^= x << 5
    x ^= x << 13
    x ^= x >> 17
    x ^= x << 5
    x ^= x << 13
    x ^= x >> 17
    x ^= x << 5
    x ^= x << 13
    x ^= x >> 17
    x ^= x << 5
    x ^= x << 13
    x ^= x >> 17
    x ^= x << 5
    x ^= x << 13
    x ^= x >> 17
    x ^= x << 5
    x ^= x << 13
    x ^= x >> 17
    x ^= x << 5
    x ^= x << 13
    x ^= x >> 17
    x ^= x << 5
    x ^= x << 13
    x ^= x >> 17
    x ^= x << 5
    x ^= x << 13
    x ^= x >> 17
    x ^= x << 5
    x ^= x << 13
    x ^= x >> 17
    x ^= x << 5
    x ^= x << 13
    x ^= x >> 17
    x ^= x << 5
    x ^= x << 13
    x ^= x >> 17
    x ^= x << 5
    x ^= x << 13
    x ^= x >> 17
    x ^= x << 5
    x ^= x << 13
    x ^= x >> 17
    x ^= x << 5
  }
  sink = x
}

/**
 * Iterations that take one millisecond on this core: the best of many short trials, because an interruption can only
 * make a trial slower.
 */
export function calibrate() {
  const iterations = 200_000
  spin(iterations * 20) // Long enough for the optimising compiler to replace the loop.
  let best = 0
  for (let trial = 0; trial < 200; trial++) {
    const start = process.hrtime.bigint()
    spin(iterations)
    const ms = Number(process.hrtime.bigint() - start) / 1e6
    best = Math.max(best, iterations / ms)
  }
  return Math.round(best)
}

/** The calibration that all arms of the run share, or else that of this process. */
export function spinPerMs() {
  const given = Number(process.env.MELTLAB_SPIN_PER_MS)
  return Number.isFinite(given) && given > 0 ? given : calibrate()
}
