import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type CallFacts, callTimeline } from '../../src/timing/call-timeline.ts'
import { facts, histories } from './arbitrary.ts'

const near = (a: number, b: number): boolean => Math.abs(a - b) < 1e-6

const call = (more: Partial<CallFacts> = {}): CallFacts => ({
  startedAtMs: 1000,
  queuedMs: 0,
  connectMs: 0,
  sentAtMs: 1000,
  firstByteAtMs: 1300,
  endedAtMs: 1300,
  failedToConnect: false,
  stalls: [],
  claimedMs: undefined,
  usualMs: undefined,
  ...more,
})

test('property: shares are not negative and add up to the wall time', () => {
  fc.assert(
    fc.property(facts, given => {
      const { shares, wallMs, dependencyMs } = callTimeline(given)
      const parts = Object.values(shares)
      for (const part of parts) assert.ok(part >= 0, `${part}`)
      assert.ok(
        near(
          parts.reduce((sum, part) => sum + part, 0),
          wallMs,
        ),
        JSON.stringify({ shares, wallMs }),
      )
      assert.ok(dependencyMs.low <= dependencyMs.high + 1e-9)
      assert.ok(dependencyMs.best <= dependencyMs.high + 1e-9)
    }),
    { numRuns: 2000 },
  )
})

test('property: the true time of the dependency lies within [low, high], without or with network time', () => {
  fc.assert(
    fc.property(
      histories.filter(({ wayMs }) => wayMs === 0),
      ({ tookMs, facts: seen }) => {
        const { dependencyMs } = callTimeline(seen)
        assert.ok(dependencyMs.low <= tookMs + 1e-6 && tookMs <= dependencyMs.high + 1e-6)
      },
    ),
  )
  fc.assert(
    fc.property(histories, ({ tookMs, wayMs, facts: seen }) => {
      const { low, high } = callTimeline(seen).dependencyMs
      assert.ok(low <= tookMs + wayMs + 1e-6 && tookMs + wayMs <= high + 1e-6)
    }),
    { numRuns: 1000 },
  )
})

test('property: an honest Server-Timing gives the exact time, and the network never more than it took', () => {
  fc.assert(
    fc.property(
      histories.filter(history => history.facts.claimedMs !== undefined),
      ({ tookMs, wayMs, facts: seen }) => {
        const timeline = callTimeline(seen)
        assert.ok(near(timeline.dependencyMs.best, tookMs))
        assert.ok(timeline.shares.networkMs <= wayMs + 1e-6)
      },
    ),
  )
})

test('a stall that ended before the answer arrived does not count as loop time', () => {
  const { verdict, dependencyMs, shares } = callTimeline(call({ stalls: [{ fromMs: 1050, toMs: 1250 }] }))
  assert.equal(verdict, 'dependency')
  assert.deepEqual([dependencyMs.low, dependencyMs.high, shares.loopMs], [300, 300, 0])
})

test('for an answer seen at the end of a stall, the usual time of the peer decides', () => {
  const stalls = [{ fromMs: 1020, toMs: 1300 }]
  const blind = callTimeline(call({ stalls }))
  assert.deepEqual([blind.dependencyMs.low, blind.dependencyMs.high], [20, 300])
  assert.equal(
    blind.dependencyMs.best,
    Math.sqrt(20 * 300),
    'nothing is known: between 20 and 300, in orders of magnitude',
  )
  assert.equal(blind.verdict, 'loop')
  assert.equal(callTimeline(call({ stalls, usualMs: () => 50 })).shares.loopMs, 250)
  assert.equal(callTimeline(call({ stalls, usualMs: () => 50 })).verdict, 'loop')
  assert.equal(callTimeline(call({ stalls, usualMs: () => 5 })).dependencyMs.best, 20, 'never below what is certain')
})

test('stalls in close succession count as one', () => {
  const stalls = [
    { fromMs: 1020, toMs: 1150 },
    { fromMs: 1155, toMs: 1298 },
  ]
  assert.equal(callTimeline(call({ stalls })).dependencyMs.low, 20)
})

test('a lying peer cannot claim more than the call took, nor turn a stall into network time', () => {
  assert.equal(callTimeline(call({ claimedMs: 1e9 })).dependencyMs.best, 300)
  const modest = callTimeline(call({ claimedMs: 0, stalls: [{ fromMs: 1100, toMs: 1300 }] }))
  assert.equal(modest.shares.networkMs, 100)
  assert.equal(modest.shares.loopMs, 200)
})

test('time neither claimed by the peer nor spent in a stall is network time', () => {
  const { shares, verdict } = callTimeline(call({ claimedMs: 20 }))
  assert.equal(shares.networkMs, 280)
  assert.equal(verdict, 'network')
})

test('connecting is network time, and queueing for a connection is dependency time', () => {
  const connecting = callTimeline(call({ connectMs: 250, sentAtMs: undefined }))
  assert.equal(connecting.verdict, 'network')
  assert.equal(connecting.shares.dependencyMs, 50)
  const queued = callTimeline(call({ queuedMs: 250, sentAtMs: undefined }))
  assert.equal(queued.verdict, 'dependency')
  assert.equal(queued.dependencyMs.high, 50, 'and no part of what this call took there')
  const refused = callTimeline(call({ failedToConnect: true, firstByteAtMs: undefined }))
  assert.equal(refused.verdict, 'network')
  assert.equal(refused.shares.dependencyMs, 0)
})

test('no share is below 0, however the times round', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: 1e6 }), { minLength: 6, maxLength: 6 }),
      fc.boolean(),
      (parts, failed) => {
        const [begin, ...later] = parts.map(part => part / 7001)
        const [queuedMs, connectMs, fromMs, lastsMs, restMs] = later as [number, number, number, number, number]
        const startedAtMs = 1000 + begin!
        const endedAtMs = startedAtMs + queuedMs + connectMs + restMs
        const stall = { fromMs: startedAtMs + fromMs, toMs: startedAtMs + fromMs + lastsMs }
        const facts = { startedAtMs, queuedMs, connectMs, endedAtMs, sentAtMs: undefined, firstByteAtMs: undefined }
        const { shares } = callTimeline(call({ ...facts, failedToConnect: failed, stalls: [stall] }))
        for (const [name, ms] of Object.entries(shares)) assert.ok(ms >= 0, `${name} ${ms}`)
      },
    ),
    { seed: 1, numRuns: 2000 },
  )
})

test('a stall while a call is queued is loop time', () => {
  const stalls = [{ fromMs: 1010, toMs: 1210 }]
  for (const failedToConnect of [true, false]) {
    const { shares } = callTimeline(call({ queuedMs: 250, sentAtMs: undefined, failedToConnect, stalls }))
    assert.deepEqual([shares.loopMs, shares.selfMs], [200, 0])
  }
})

test('a stall while a connection is opened is loop time', () => {
  const seen = { connectMs: 300, sentAtMs: undefined, firstByteAtMs: undefined }
  const { shares } = callTimeline(call({ ...seen, stalls: [{ fromMs: 1100, toMs: 1280 }] }))
  assert.deepEqual([shares.loopMs, shares.selfMs, shares.networkMs], [180, 0, 120])
})

test('a stall that delayed the sending is loop time', () => {
  const { shares, dependencyMs } = callTimeline(call({ sentAtMs: undefined, stalls: [{ fromMs: 995, toMs: 1200 }] }))
  assert.equal(shares.loopMs, 200)
  assert.equal(dependencyMs.high, 100)
})

test('without an answer the whole wait is dependency time, even if the loop stalls at the end', () => {
  const { verdict, dependencyMs } = callTimeline(
    call({ firstByteAtMs: undefined, stalls: [{ fromMs: 1250, toMs: 1300 }] }),
  )
  assert.equal(verdict, 'dependency')
  assert.equal(dependencyMs.low, 300)
})
