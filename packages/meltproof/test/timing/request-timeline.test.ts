import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Interval } from '../../src/record.ts'
import { type CallFacts, callTimeline, stallBefore } from '../../src/timing/call-timeline.ts'
import { lengthMs, union, within } from '../../src/timing/intervals.ts'
import { RequestTimeline, RequestTimes } from '../../src/timing/request-timeline.ts'
import { facts, stalls } from './arbitrary.ts'

const intervals: fc.Arbitrary<Interval[]> = fc.array(
  fc.record({ fromMs: fc.integer({ min: 0, max: 100 }), toMs: fc.integer({ min: 0, max: 100 }) }),
  { maxLength: 12 },
)
const covers = (list: readonly Interval[], at: number): boolean => list.some(i => i.fromMs <= at && at < i.toMs)

test('property: union and within agree with checking every point', () => {
  fc.assert(
    fc.property(intervals, given => {
      const all = union(given)
      const clipped = within(all, 20, 70)
      for (let at = 0.5; at < 100; at++) {
        assert.equal(covers(all, at), covers(given, at))
        assert.equal(covers(clipped, at), covers(given, at) && at >= 20 && at < 70)
      }
      for (let i = 1; i < all.length; i++) assert.ok(all[i]!.fromMs > all[i - 1]!.toMs)
      const points = Array.from({ length: 100 }, (_, i) => i + 0.5)
      assert.equal(lengthMs(all), points.filter(at => covers(given, at)).length)
    }),
  )
})

const at = fc.double({ min: 1000, max: 2500, noNaN: true })

test('property: the parts of a request add up to its total time', () => {
  fc.assert(
    fc.property(
      fc.record({ started: at, returned: at, received: at, answered: at, ended: at }),
      fc.array(facts, { maxLength: 5 }),
      stalls,
      fc.double({ min: 0, max: 300, noNaN: true }),
      ({ started, returned, received, answered, ended }, calls, around, lateMs) => {
        const times = new RequestTimes(1000, started, lateMs)
        times.returnedAtMs = returned
        times.receivedAtMs = received
        times.answeredAtMs = answered
        for (const call of calls) times.addCall(callTimeline(call))
        const f = new RequestTimeline()
        f.write(times, ended, around)
        const parts = [f.queuedMs, f.stalledMs, f.dependencyMs, f.networkMs, f.ownMs]
        for (const part of parts) assert.ok(part >= -1e-9)
        assert.ok(Math.abs(parts.reduce((sum, part) => sum + part, 0) - f.totalMs) < 1e-6)
        const shares = Object.values(f.shares).reduce((sum, part) => sum + part, 0)
        assert.ok(Math.abs(shares - f.totalMs - f.lateMs) < 1e-6)
        assert.equal(f.calls, calls.length)
      },
    ),
    { numRuns: 1000 },
  )
})

test('property: the shortcut for requests without calls and stalls gives the same result', () => {
  const sometimes = fc.option(at, { nil: Number.NaN })
  fc.assert(
    fc.property(
      fc.record({ started: at, returned: sometimes, received: sometimes, answered: sometimes, ended: at }),
      ({ started, returned, received, answered, ended }) => {
        const times = new RequestTimes(1000, started)
        times.returnedAtMs = returned
        times.receivedAtMs = received
        times.answeredAtMs = answered
        const [short, general] = [new RequestTimeline(), new RequestTimeline()]
        short.write(times, ended, [])
        general.takeApart(times, ended, [])
        for (const part of ['queuedMs', 'stalledMs', 'dependencyMs', 'networkMs'] as const) {
          assert.ok(Math.abs(short[part] - general[part]) < 1e-6, `${part}: ${short[part]}, ${general[part]}`)
        }
      },
    ),
    { numRuns: 3000 },
  )
})

function request(
  note: (times: RequestTimes) => void,
  endedAtMs: number,
  around: Interval[] = [],
  times: RequestTimes = new RequestTimes(1000),
): RequestTimeline {
  note(times)
  const timeline = new RequestTimeline()
  timeline.write(times, endedAtMs, around)
  return timeline
}

const slowCall = (
  startedAtMs: number,
  endedAtMs: number,
  more: Partial<CallFacts> = {},
): ReturnType<typeof callTimeline> =>
  callTimeline({
    startedAtMs,
    queuedMs: 0,
    connectMs: 0,
    sentAtMs: startedAtMs,
    firstByteAtMs: endedAtMs,
    endedAtMs,
    failedToConnect: false,
    stalls: [],
    claimedMs: undefined,
    usualMs: undefined,
    ...more,
  })

test('concurrent calls count once', () => {
  const { dependencyMs, ownMs, verdict } = request(times => {
    times.addCall(slowCall(1010, 1210))
    times.addCall(slowCall(1010, 1310))
  }, 1320)
  assert.equal(dependencyMs, 300)
  assert.equal(ownMs, 20)
  assert.equal(verdict, 'dependency')
})

test('a stall during a slow call counts as dependency, without a call as loop, in the handler of the request as self', () => {
  const stall = [{ fromMs: 1020, toMs: 1300 }]
  assert.equal(request(times => times.addCall(slowCall(1010, 1310)), 1320, stall).verdict, 'dependency')
  assert.equal(request(() => undefined, 1320, stall).verdict, 'loop')
  const own = request(
    times => {
      times.returnedAtMs = 1310
    },
    1320,
    stall,
  )
  assert.equal(own.verdict, 'self')
  assert.equal(own.stalledMs, 0)
})

test('waiting at the gate is queue time, and a stall during the wait is loop time', () => {
  const waited = (around: Interval[]): RequestTimeline =>
    request(() => undefined, 1410, around, new RequestTimes(1000, 1400))
  assert.deepEqual([waited([]).queuedMs, waited([]).verdict], [400, 'self'])
  const stalled = waited([{ fromMs: 1010, toMs: 1390 }])
  assert.deepEqual([stalled.queuedMs, stalled.stalledMs, stalled.verdict], [20, 380, 'loop'])
})

test('a slow upload or download is network time', () => {
  const upload = request(times => {
    times.receivedAtMs = 1500
  }, 1510)
  assert.deepEqual([upload.networkMs, upload.verdict], [500, 'network'])
  const download = request(times => {
    times.answeredAtMs = 1010
  }, 1510)
  assert.deepEqual([download.networkMs, download.verdict], [500, 'network'])
})

test('the wait before a request could be read is loop time', () => {
  const { shares, totalMs, verdict } = request(() => undefined, 1010, [], new RequestTimes(1000, 1000, 250))
  assert.deepEqual([shares.loopMs, totalMs, verdict], [250, 10, 'loop'])
  assert.equal(stallBefore([{ fromMs: 700, toMs: 995 }], 1000), 700)
  assert.equal(stallBefore([{ fromMs: 700, toMs: 900 }], 1000), 1000)
})

test('a request with thousands of calls keeps only a bounded number of them', () => {
  const note = (times: RequestTimes): void => {
    for (let i = 0; i < 5000; i++) times.addCall(slowCall(1000 + i, 1000.5 + i))
  }
  const { calls, dependencyMs } = request(note, 7000)
  assert.equal(calls, 5000)
  assert.equal(dependencyMs, 128)
})

test('a finished record does not change when a call outlives its request', () => {
  const times = new RequestTimes(1000)
  const timeline = request(() => times.addCall(slowCall(1010, 1110)), 1200, [], times)
  times.addCall(slowCall(1020, 1900))
  assert.deepEqual([timeline.calls, timeline.dependencyMs, timeline.totalMs], [1, 100, 200])
  assert.equal(times.calls?.count, 1)
})
