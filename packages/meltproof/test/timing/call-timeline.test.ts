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
  threadWaits: [],
  claimedMs: undefined,
  usualMs: undefined,
  ...more,
})

test('whatever is claimed or seen, shares are not negative and add up to the wall time', () => {
  fc.assert(
    fc.property(facts, given => {
      const { shares, wallMs, dependencyMs } = callTimeline(given)
      const parts = Object.values(shares)
      for (const part of parts) assert.ok(part >= -1e-9, `${part}`)
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

test('the truth lies within [low, high] whenever the network took nothing', () => {
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

test('an honest Server-Timing gives the exact figure, and the network never more than it took', () => {
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

test('a stall that was over before the answer came is not held against us', () => {
  const { verdict, dependencyMs, shares } = callTimeline(call({ stalls: [{ fromMs: 1050, toMs: 1250 }] }))
  assert.equal(verdict, 'dependency')
  assert.deepEqual([dependencyMs.low, dependencyMs.high, shares.loopMs], [300, 300, 0])
})

test('an answer seen as a stall ends may have come any time in it; what the peer usually takes decides', () => {
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

test('stalls that follow one another are one', () => {
  const stalls = [
    { fromMs: 1020, toMs: 1150 },
    { fromMs: 1155, toMs: 1298 },
  ]
  assert.equal(callTimeline(call({ stalls })).dependencyMs.low, 20)
})

test('a lying peer can not claim more than the call took, nor make a stall of ours its network', () => {
  assert.equal(callTimeline(call({ claimedMs: 1e9 })).dependencyMs.best, 300)
  const modest = callTimeline(call({ claimedMs: 0, stalls: [{ fromMs: 1100, toMs: 1300 }] }))
  assert.equal(modest.shares.networkMs, 100)
  assert.equal(modest.shares.loopMs, 200)
})

test('what the peer did not take and what did not lie here was on the way', () => {
  const { shares, verdict } = callTimeline(call({ claimedMs: 20 }))
  assert.equal(shares.networkMs, 280)
  assert.equal(verdict, 'network')
})

test('making a connection is the network, the queue for one is the dependency that holds the others', () => {
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

test('a stall while it is queued is ours: no connection could be handed on', () => {
  const stalls = [{ fromMs: 1010, toMs: 1210 }]
  for (const failedToConnect of [true, false]) {
    const { shares } = callTimeline(call({ queuedMs: 250, sentAtMs: undefined, failedToConnect, stalls }))
    assert.deepEqual([shares.loopMs, shares.selfMs], [200, 0])
  }
})

test('the time in which the name of the peer waited for a thread of ours is ours, in the queue too', () => {
  const threadWaits = [{ fromMs: 1010, toMs: 1210 }]
  const connecting = callTimeline(call({ connectMs: 250, sentAtMs: undefined, threadWaits }))
  const { selfMs, networkMs } = connecting.shares
  assert.deepEqual([connecting.verdict, selfMs, networkMs, connecting.connectMs], ['self', 200, 50, 50])
  const queued = callTimeline(call({ queuedMs: 250, sentAtMs: undefined, threadWaits }))
  assert.deepEqual([queued.verdict, queued.shares.selfMs, queued.shares.dependencyMs], ['self', 200, 100])
  const refused = callTimeline(
    call({ failedToConnect: true, firstByteAtMs: undefined, sentAtMs: undefined, threadWaits }),
  )
  assert.deepEqual([refused.verdict, refused.shares.selfMs, refused.shares.networkMs], ['self', 200, 100])
})

test('a lookup that waited for a thread for a short time was slow by itself, and is the network', () => {
  const threadWaits = [{ fromMs: 1000, toMs: 1030 }]
  assert.equal(callTimeline(call({ connectMs: 250, sentAtMs: undefined, threadWaits })).verdict, 'network')
})

test('a stall while a lookup waits for a thread is the loop', () => {
  const seen = { connectMs: 300, sentAtMs: undefined, threadWaits: [{ fromMs: 1000, toMs: 1300 }] }
  for (const failedToConnect of [false, true]) {
    const stalls = [{ fromMs: 1100, toMs: 1280 }]
    const { shares } = callTimeline(call({ ...seen, firstByteAtMs: undefined, failedToConnect, stalls }))
    assert.deepEqual([shares.loopMs, shares.selfMs, shares.networkMs], [180, 120, 0])
  }
})

test('a stall that held up the sending is ours', () => {
  const { shares, dependencyMs } = callTimeline(call({ sentAtMs: undefined, stalls: [{ fromMs: 995, toMs: 1200 }] }))
  assert.equal(shares.loopMs, 200)
  assert.equal(dependencyMs.high, 100)
})

test('no answer: the whole wait was the dependency, however the loop did at the end', () => {
  const { verdict, dependencyMs } = callTimeline(
    call({ firstByteAtMs: undefined, stalls: [{ fromMs: 1250, toMs: 1300 }] }),
  )
  assert.equal(verdict, 'dependency')
  assert.equal(dependencyMs.low, 300)
})
