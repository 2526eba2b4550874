/** The short form of bench/generator-stops.ts: a stopped generator does not certify the effect of the stop. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type StoppedCase, StoppedGenerator } from '../bench/lib/stopped-generator.ts'

const CASES: readonly StoppedCase[] = [
  { rate: 100, workMs: 0, durationMs: 500 },
  { rate: 1000, workMs: 0.2, durationMs: 500 },
  { rate: 400, workMs: 2, durationMs: 500 },
]

test('a generator that was stopped for 20 to 100 ms issues no wrong certificate', { timeout: 120_000 }, async () => {
  const generator = new StoppedGenerator()
  try {
    for (const kind of CASES) {
      for (const lengthMs of [20, 45, 100]) {
        const { certificate } = await generator.run(kind, { afterMs: 100, lengthMs })
        const [, max] = certificate.intervals.ok!.max
        // On a busy machine the server itself may be many times slower, which hides the stop.
        assert.ok(certificate.code !== 'certified' || max > 5 * lengthMs, `${kind.rate}/s, ${lengthMs} ms, max ${max}`)
      }
    }
  } finally {
    await generator.end()
  }
})
