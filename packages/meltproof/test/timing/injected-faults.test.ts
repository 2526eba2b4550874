/**
 * The short form of bench/verdicts.ts, without a clock: calls whose slow part is known are judged one at a time, as the
 * tracker judges them.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Verdict } from '../../src/record.ts'
import { callTimeline } from '../../src/timing/call-timeline.ts'
import { UsualTimes } from '../../src/timing/usual.ts'

interface Fault {
  readonly route?: string
  readonly tookMs: number
  readonly queuedMs?: number
  /** Times after the start of the call. */
  readonly stall?: { readonly atMs: number; readonly forMs: number }
  /** Undefined for a call of usual duration. */
  readonly truth?: Verdict
}

/** Counts the right verdicts among calls with a known truth. */
function right(faults: readonly Fault[]): number {
  const usual = new UsualTimes()
  let count = 0
  for (const { route = '/', tookMs, queuedMs = 0, stall, truth } of faults) {
    const startedAtMs = 1000
    const sentAtMs = startedAtMs + queuedMs
    const cameAtMs = sentAtMs + tookMs
    const [fromMs, toMs] = [startedAtMs + (stall?.atMs ?? 0), startedAtMs + (stall?.atMs ?? 0) + (stall?.forMs ?? 0)]
    const firstByteAtMs = fromMs <= cameAtMs && cameAtMs < toMs ? toMs : cameAtMs
    const { dependencyMs, verdict } = callTimeline({
      startedAtMs,
      queuedMs,
      connectMs: 0,
      sentAtMs,
      firstByteAtMs,
      endedAtMs: firstByteAtMs,
      failedToConnect: false,
      stalls: toMs > fromMs && fromMs < firstByteAtMs ? [{ fromMs, toMs: Math.min(toMs, firstByteAtMs) }] : [],
      claimedMs: undefined,
      usualMs: (lowMs, highMs) => usual.of('peer GET', route, lowMs, highMs),
    })
    if (dependencyMs.high - dependencyMs.low < 1) usual.note('peer GET', route, dependencyMs.high)
    if (truth !== undefined && verdict === truth) count++
  }
  return count
}

const ms = (min: number, max: number): fc.Arbitrary<number> => fc.double({ min, max, noNaN: true })
const hundred = (fault: fc.Arbitrary<Fault>): Fault[] => fc.sample(fault, { numRuns: 100, seed: 14 })

/** The loop stalls during the call, for at least three times its duration. */
const stalled = (tookMs: fc.Arbitrary<number>, route?: string): fc.Arbitrary<Fault> =>
  fc.tuple(tookMs, ms(0, 0.8), ms(3, 15)).map(([took, at, times]) => ({
    ...(route === undefined ? {} : { route }),
    tookMs: took,
    stall: { atMs: at * took, forMs: times * took + 50 },
    truth: 'loop' as const,
  }))
const slow = (tookMs: fc.Arbitrary<number>, route?: string): fc.Arbitrary<Fault> =>
  fc.tuple(tookMs, ms(0, 0.9)).map(([took, at]) => ({
    ...(route === undefined ? {} : { route }),
    tookMs: took,
    stall: { atMs: at * took, forMs: took / 5 },
    truth: 'dependency' as const,
  }))
const usually = (tookMs: number, count: number, route = '/'): Fault[] =>
  Array.from({ length: count }, () => ({ route, tookMs }))

const cases: Readonly<Record<string, readonly Fault[]>> = {
  'the loop stalls, after healthy calls': [...usually(40, 10), ...hundred(stalled(ms(20, 60)))],
  'the loop stalls in every call': hundred(stalled(ms(5, 100))),
  'the dependency is slow': [...usually(40, 10), ...hundred(slow(ms(200, 900)))],
  'the dependency is slow in every call': hundred(slow(ms(200, 900))),
  'the loop stalls in a quick call of a peer that is mostly slow': [
    ...usually(5, 5, '/quick'),
    ...usually(500, 40, '/slow'),
    ...hundred(stalled(ms(4, 6), '/quick')).map(fault => ({ ...fault, stall: { atMs: 2, forMs: 900 } })),
  ],
  'the quick route has become slow': [
    ...usually(5, 5, '/quick'),
    ...usually(500, 40, '/slow'),
    ...hundred(slow(ms(300, 900), '/quick')),
  ],
  'all connections are out': hundred(
    ms(60, 900).map(queuedMs => ({ tookMs: 2, queuedMs, truth: 'dependency' as const })),
  ),
}

for (const [name, faults] of Object.entries(cases)) {
  test(`98 of 100 verdicts are right: ${name}`, () => {
    const count = right(faults)
    assert.ok(count >= 98, `${count} of 100`)
  })
}
