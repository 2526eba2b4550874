/** The phases of one call, from given numbers: which limit expires when, and what counts as progress. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { CallPhases, type CallProgress } from '../../src/outbound/phases.ts'
import { type CallLimits, DEFAULT_LIMITS, RATE_WINDOW_MS, ZERO_CODE_LIMITS } from '../../src/outbound/limits.ts'

const FLOWING: CallProgress = { queued: false, paused: false, awaitingCaller: false, sentBytes: 0 }
const PAUSED: CallProgress = { ...FLOWING, paused: true }
const NO_LIMITS: CallLimits = {
  connectMs: false,
  firstByteMs: false,
  idleMs: false,
  minBytesPerSecond: false,
  totalMs: false,
  streamIdleMs: false,
  maxInFlight: false,
  adaptive: false,
}
/** A call without stalls. `nextMs` is the time of the next check. */
class Phases extends CallPhases {
  constructor(limits: Partial<CallLimits>) {
    super({ ...NO_LIMITS, ...limits }, 0)
  }

  at(nowMs: number, progress: CallProgress): { expired: string | undefined; limitMs?: number; nextMs?: number } {
    const found = this.check(nowMs, () => 0, progress)
    return found.expired === undefined ? { expired: undefined, nextMs: nowMs + found.inMs } : found
  }
}
const phases = (limits: Partial<CallLimits>): Phases => new Phases(limits)

describe('phases of a call', () => {
  test('connect: the wait for a free connection of the client does not count', () => {
    const call = phases({ connectMs: 100 })
    const queued = { ...FLOWING, queued: true }
    assert.deepEqual(call.at(100, queued), { expired: undefined, nextMs: 200 })
    assert.deepEqual(call.at(200, queued), { expired: undefined, nextMs: 300 })
    call.connecting(250)
    assert.equal(call.at(300, FLOWING).expired, undefined)
    assert.equal(call.at(350, FLOWING).expired, 'connect')
  })

  test('the zero-code limits end only a call without a connection or without a first byte', () => {
    const HOUR_MS = 3_600_000
    const silent = phases(ZERO_CODE_LIMITS)
    // Until then undici (10 s) and the kernel (about 130 s) fail with their own codes, which clients retry.
    assert.equal(silent.at(140_000, FLOWING).expired, undefined)
    assert.equal(silent.at(150_000, FLOWING).expired, 'connect')
    const slow = phases(ZERO_CODE_LIMITS)
    slow.connected(1)
    slow.sent(1)
    assert.equal(slow.at(600_000, FLOWING).expired, undefined, 'a long poll of ten minutes')
    slow.head(610_000, false)
    assert.equal(slow.at(24 * HOUR_MS, FLOWING).expired, undefined, 'a watch that is silent for a day')
    const dead = phases(ZERO_CODE_LIMITS)
    dead.connected(1)
    dead.sent(1)
    assert.equal(dead.at(900_001, FLOWING).expired, 'first-byte')
  })

  test('connect: counts from the call to its connection', () => {
    const call = phases({ connectMs: 100 })
    assert.equal(call.nextMs(), 100)
    assert.equal(call.at(99.9, FLOWING).expired, undefined)
    assert.deepEqual(call.at(100, FLOWING), { expired: 'connect', limitMs: 100 })
    call.connected(100)
    assert.equal(call.at(1e9, FLOWING).expired, undefined)
  })

  test('first byte: counts from the end of the request, not from its connection', () => {
    const call = phases({ firstByteMs: 50 })
    call.connected(1000)
    assert.equal(call.nextMs(), 1050)
    call.sent(1030)
    assert.equal(call.at(1079, FLOWING).expired, undefined)
    assert.equal(call.at(1080, FLOWING).expired, 'first-byte')
  })

  test('first byte: an upload that makes progress or waits for its caller gets a new limit', () => {
    const call = phases({ firstByteMs: 50 })
    call.connected(0)
    assert.deepEqual(call.at(50, { ...FLOWING, sentBytes: 10 }), { expired: undefined, nextMs: 100 })
    assert.deepEqual(call.at(100, { ...FLOWING, sentBytes: 10, awaitingCaller: true }).expired, undefined)
    assert.equal(call.at(149, { ...FLOWING, sentBytes: 10 }).expired, undefined)
    assert.equal(call.at(150, { ...FLOWING, sentBytes: 10 }).expired, 'first-byte')
  })

  test('idle: counts between chunks, and not while reading is paused', () => {
    const call = phases({ idleMs: 100 })
    call.connected(0)
    call.head(10, false)
    assert.equal(call.nextMs(), 110)
    call.chunk(60, 1)
    assert.deepEqual(call.at(110, FLOWING), { expired: undefined, nextMs: 160 })
    assert.deepEqual(call.at(160, PAUSED), { expired: undefined, nextMs: 260 })
    // Reading was paused at the last check. When it resumed is unknown, so the call gets a whole new limit.
    assert.deepEqual(call.at(260, FLOWING), { expired: undefined, nextMs: 360 })
    assert.equal(call.at(360, FLOWING).expired, 'idle')
    assert.equal(call.bytesSeen, 1)
  })

  test('drip: a byte every 80 ms passes the idle limit, but not the drip limit', () => {
    const call = phases({ idleMs: 1000, minBytesPerSecond: 64 })
    call.head(0, false)
    let expired: string | undefined
    let atMs = 0
    while (expired === undefined && atMs < 60_000) {
      atMs += 80
      call.chunk(atMs, 1)
      if (call.nextMs() <= atMs) expired = call.at(atMs, FLOWING).expired
    }
    assert.equal(expired, 'drip')
    assert.ok(atMs >= RATE_WINDOW_MS && atMs <= RATE_WINDOW_MS + 80, `at ${atMs} ms`)
  })

  test('drip: a slow reader does not count as a slow sender', () => {
    const call = phases({ minBytesPerSecond: 1000 })
    call.head(0, false)
    call.chunk(10, 1)
    call.paused()
    assert.equal(call.at(RATE_WINDOW_MS, FLOWING).expired, undefined)
    assert.equal(call.at(2 * RATE_WINDOW_MS, FLOWING).expired, 'drip')
  })

  test('drip: the configured rate passes in every window, and one byte less does not', () => {
    const call = phases({ minBytesPerSecond: 64 })
    const due = (64 * RATE_WINDOW_MS) / 1000
    call.head(0, false)
    for (const window of [1, 2]) {
      call.chunk(window * RATE_WINDOW_MS - 1, due)
      const nextMs = (window + 1) * RATE_WINDOW_MS
      assert.deepEqual(call.at(window * RATE_WINDOW_MS, FLOWING), { expired: undefined, nextMs })
    }
    call.chunk(3 * RATE_WINDOW_MS - 1, due - 1)
    assert.equal(call.at(3 * RATE_WINDOW_MS, FLOWING).expired, 'drip')
  })

  test('an event of an earlier phase does not restart a limit', () => {
    const call = phases({ firstByteMs: 50, idleMs: 100 })
    call.sent(0)
    call.connected(10)
    call.connecting(30)
    call.connected(40)
    assert.equal(call.at(60, FLOWING).expired, 'first-byte')
    call.head(70, false)
    call.sent(120)
    assert.equal(call.at(170, FLOWING).expired, 'idle')
  })

  test('total: counts whatever else happens', () => {
    const call = phases({ totalMs: 100, idleMs: 1000 })
    assert.equal(call.nextMs(), 100)
    call.connected(1)
    call.head(2, false)
    call.chunk(99, 1_000_000)
    assert.deepEqual(call.at(100, FLOWING), { expired: 'total', limitMs: 100 })
  })

  test('an event stream that has begun has streamIdleMs as its only limit', () => {
    const call = phases({ ...DEFAULT_LIMITS, streamIdleMs: 1000 })
    call.head(10, true)
    assert.equal(call.nextMs(), 1010)
    call.chunk(900, 1)
    assert.equal(call.at(1010, FLOWING).expired, undefined)
    assert.equal(call.at(1900, FLOWING).expired, 'idle')
  })

  const stalled = (fromMs: number, toMs: number) => (from: number, to: number) =>
    Math.max(0, Math.min(to, toMs) - Math.max(from, fromMs))

  test('stalls of this process before the request is sent do not count', () => {
    const call = new CallPhases({ ...NO_LIMITS, connectMs: 100, firstByteMs: 100, totalMs: 250 }, 0)
    assert.deepEqual(call.check(100, stalled(50, 90), FLOWING), { expired: undefined, inMs: 40 })
    call.connected(120)
    assert.deepEqual(call.check(220, stalled(50, 130), FLOWING), { expired: undefined, inMs: 10 })
    assert.deepEqual(call.check(230, stalled(50, 130), FLOWING), { expired: 'first-byte', limitMs: 100 })
    call.sent(200)
    call.head(230, false)
    assert.deepEqual(call.check(330, stalled(50, 130), FLOWING), { expired: 'total', limitMs: 250 })
  })

  test('stalls of this process count while only the peer works', () => {
    const call = new CallPhases({ ...NO_LIMITS, firstByteMs: 100, totalMs: 200 }, 0)
    call.connected(0)
    call.sent(10)
    assert.deepEqual(call.check(110, stalled(20, 100), FLOWING), { expired: 'first-byte', limitMs: 100 })
    call.head(110, false)
    assert.equal(call.check(200, stalled(20, 100), FLOWING).expired, 'total')
  })

  test('a stall during which the head may have arrived does not count', () => {
    const call = new CallPhases({ ...NO_LIMITS, totalMs: 200 }, 0)
    call.connected(0)
    call.sent(10)
    call.head(320, false, 20)
    assert.deepEqual(call.check(320, stalled(20, 319), FLOWING), { expired: undefined, inMs: 40 }) // half of 320 ms
    const early = new CallPhases({ ...NO_LIMITS, totalMs: 200 }, 0)
    early.connected(0)
    early.sent(100)
    early.head(150, false, 50) // the stall began before the request was sent, so it counts once
    assert.deepEqual(early.check(200, stalled(50, 149), FLOWING), { expired: undefined, inMs: 99 })
  })

  test('stalls of this process while a body arrives do not count', () => {
    const call = new CallPhases({ ...NO_LIMITS, idleMs: 100, totalMs: 300 }, 0)
    call.connected(0)
    call.sent(0)
    call.head(50, false)
    assert.deepEqual(call.check(150, stalled(60, 100), FLOWING), { expired: undefined, inMs: 40 })
    call.chunk(190, 1)
    assert.deepEqual(call.check(300, stalled(60, 100), FLOWING), { expired: 'idle', limitMs: 100 })
    call.chunk(290, 1)
    assert.deepEqual(call.check(300, stalled(60, 100), FLOWING), { expired: undefined, inMs: 40 })
    assert.deepEqual(call.check(340, stalled(60, 100), FLOWING), { expired: 'total', limitMs: 300 })
  })

  test('without limits there is no next check', () => {
    const call = phases({})
    for (const step of [() => call.connected(1), () => call.sent(2), () => call.head(3, false)]) {
      assert.equal(call.nextMs(), Number.POSITIVE_INFINITY)
      step()
    }
    assert.equal(call.at(1e12, FLOWING).expired, undefined)
  })

  test('property: checking at nextMs always makes progress, and no limit expires early', () => {
    const limit = fc.option(fc.integer({ min: 1, max: 5_000 }), { nil: false as const })
    const event = fc.record({
      afterMs: fc.integer({ min: 0, max: 2_000 }),
      what: fc.constantFrom('connected', 'sent', 'head', 'chunk', 'paused'),
      paused: fc.boolean(),
    })
    fc.assert(
      fc.property(
        fc.record({ connectMs: limit, firstByteMs: limit, idleMs: limit, totalMs: limit, minBytesPerSecond: limit }),
        fc.array(event, { maxLength: 40 }),
        (limits, events) => {
          const call = phases(limits)
          let nowMs = 0
          for (const { afterMs, what, paused } of events) {
            const untilMs = nowMs + afterMs
            for (let turns = 0; call.nextMs() <= untilMs; turns++) {
              assert.ok(turns < 10_000, 'asked for ever')
              nowMs = Math.max(nowMs, call.nextMs())
              const found = call.at(nowMs, paused ? PAUSED : FLOWING)
              if (found.expired !== undefined) {
                if (found.expired !== 'drip') assert.ok(nowMs >= found.limitMs!)
                return
              }
              assert.ok(found.nextMs! > nowMs, `next ${found.nextMs} at ${nowMs}`)
            }
            nowMs = untilMs
            if (what === 'connected') call.connected(nowMs)
            else if (what === 'sent') call.sent(nowMs)
            else if (what === 'head') call.head(nowMs, false)
            else if (what === 'chunk') call.chunk(nowMs, 10)
            else call.paused()
          }
        },
      ),
    )
  })
})
