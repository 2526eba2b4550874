/** Random but possible histories of a call: the real events, and what a process could have observed of them. */
import fc from 'fast-check'
import type { Interval } from '../../src/record.ts'
import type { CallFacts } from '../../src/timing/call-timeline.ts'

const ms = (max: number): fc.Arbitrary<number> => fc.double({ min: 0, max, noNaN: true })

export const stalls: fc.Arbitrary<Interval[]> = fc.array(fc.tuple(ms(200), ms(300)), { maxLength: 6 }).map(gaps => {
  let atMs = 900
  return gaps.map(([gap, length]) => {
    const fromMs = atMs + gap
    atMs = fromMs + length + 12.5
    return { fromMs, toMs: fromMs + 12.1 + length }
  })
})

/** Facts of any shape, possible or not. */
export const facts: fc.Arbitrary<CallFacts> = fc.record({
  startedAtMs: fc.constant(1000),
  queuedMs: ms(500),
  connectMs: fc.option(ms(500), { nil: undefined }),
  sentAtMs: fc.option(fc.double({ min: 900, max: 2500, noNaN: true }), { nil: undefined }),
  firstByteAtMs: fc.option(fc.double({ min: 900, max: 2500, noNaN: true }), { nil: undefined }),
  endedAtMs: fc.double({ min: 1000, max: 2500, noNaN: true }),
  failedToConnect: fc.boolean(),
  stalls,
  claimedMs: fc.option(fc.oneof(ms(500), ms(1e9)), { nil: undefined }),
  usualMs: fc.option(fc.func(ms(1000)), { nil: undefined }),
})

/**
 * A dependency that takes `tookMs` plus `wayMs` of network. The loop stalls as given and sees the response after its
 * stall. Estimates are compared with these true times.
 */
export const histories: fc.Arbitrary<{ tookMs: number; wayMs: number; facts: CallFacts }> = fc
  .record({ tookMs: ms(400), wayMs: ms(100), stalls, claims: fc.boolean() })
  .map(({ tookMs, wayMs, stalls: all, claims }) => {
    // The caller is running, so no stall lasts at that moment.
    const around = all.filter(stall => stall.fromMs > 1000)
    const cameAtMs = 1000 + tookMs + wayMs
    const during = around.find(stall => stall.fromMs <= cameAtMs && stall.toMs > cameAtMs)
    const seenAtMs = during?.toMs ?? cameAtMs
    return {
      tookMs,
      wayMs,
      facts: {
        startedAtMs: 1000,
        queuedMs: 0,
        connectMs: 0,
        sentAtMs: 1000,
        firstByteAtMs: seenAtMs,
        endedAtMs: seenAtMs,
        failedToConnect: false,
        stalls: around.filter(stall => stall.fromMs < seenAtMs),
        claimedMs: claims ? tookMs : undefined,
        usualMs: undefined,
      },
    }
  })
