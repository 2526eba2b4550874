/** Which requests in service a limit counts. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { CountedRequests } from '../../../src/admission/limiter/counted-requests.ts'
import { StartTimes } from '../../../src/admission/limiter/start-times.ts'

const SLOT_MS = new StartTimes(1).windowMs
const OPEN_MS = 2000
const WINDOW_MS = 300
const BACKLOG_MS = 1000
/** Start times are remembered for at least this long. */
const LONGEST_BACKLOG_MS = 3500

function requests() {
  const counted = new CountedRequests(OPEN_MS)
  return {
    counted,
    start(nowMs: number, count = 1): void {
      counted.advance(nowMs)
      for (let i = 0; i < count; i++) counted.add()
    },
    leave(nowMs: number, startedAt: number, count = 1): void {
      counted.advance(nowMs)
      for (let i = 0; i < count; i++) counted.remove(startedAt)
    },
  }
}

/** A limit is set at 6 s. 5 requests have been in service since 0 s, and 20 arrived after 5 s, when a queue began. */
function limited() {
  const service = requests()
  const { counted, start } = service
  start(0, 5)
  start(5100, 20)
  counted.advance(6000)
  counted.limited(5000, WINDOW_MS, BACKLOG_MS)
  return service
}

describe('a limit counts', () => {
  it('requests that arrived since the queue began, and no earlier ones', () => {
    const { counted } = limited()
    assert.deepEqual([counted.inService, counted.uncounted], [25, 5])
  })

  it('the same requests until they leave, however long they take', () => {
    const { counted, leave } = limited()
    counted.advance(60_000)
    assert.equal(counted.uncounted, 5)
    leave(60_000, 5100, 20)
    assert.equal(counted.uncounted, 5)
    leave(61_000, 0, 2)
    assert.equal(counted.uncounted, 3)
    leave(62_000, 0, 3)
    assert.deepEqual([counted.inService, counted.uncounted], [0, 0])
  })

  it('all requests of the last second, even if the queue began later', () => {
    const { counted, start } = requests()
    start(0, 5)
    start(5100, 20)
    counted.advance(6000)
    counted.limited(6000, WINDOW_MS, BACKLOG_MS)
    assert.equal(counted.uncounted, 5)
  })

  it('nothing once all requests have left, wherever in a slot of start times the queue began', () => {
    for (let offMs = 0; offMs < SLOT_MS; offMs += 5) {
      const { counted, start, leave } = requests()
      const starts = Array.from({ length: 24 }, (_, i) => 4950 + 5 * i)
      for (const startedAt of starts) start(startedAt)
      counted.advance(6000)
      counted.limited(5000 + offMs, WINDOW_MS, 0)
      for (const startedAt of starts) leave(6100, startedAt)
      assert.deepEqual([counted.inService, counted.uncounted], [0, 0], `the queue began ${offMs} ms later`)
    }
  })

  it('requests older than the window too, unless `allowed` leaves them out', () => {
    const { counted, start } = limited()
    start(6010, 10)
    counted.advance(6010 + counted.windowMs + SLOT_MS)
    assert.equal(counted.older, 20 + 10)
    assert.equal(counted.uncounted, 5)
    counted.allowed = 4
    assert.equal(counted.uncounted, 5 + 4)
    counted.allowed = 1000
    assert.equal(counted.uncounted, 5 + 30)
  })

  it('no request as older than the window before a window has passed', () => {
    const { counted } = limited()
    counted.allowed = 1000
    counted.advance(6000 + WINDOW_MS - 1)
    assert.deepEqual([counted.older, counted.uncounted], [0, 5])
  })

  it('under a new limit only requests since then, whatever the old limit counted', () => {
    const { counted, start } = limited()
    counted.allowed = 1000
    counted.unlimited()
    start(20_000, 3)
    counted.limited(20_000, WINDOW_MS, BACKLOG_MS)
    assert.equal(counted.uncounted, 25, 'all but the three that came last were there before')
    counted.advance(30_000)
    assert.deepEqual([counted.older, counted.uncounted], [3, 25])
  })
})

describe('without a limit', () => {
  it('requests of the last two seconds count as recent', () => {
    const { counted, start, leave } = requests()
    start(0, 5)
    start(1500, 7)
    assert.equal(counted.recent, 12)
    leave(1900, 1500)
    counted.advance(counted.windowMs + SLOT_MS)
    assert.deepEqual([counted.recent, counted.older], [6, 5])
  })
})

const step = fc.oneof(
  { weight: 6, arbitrary: fc.constant('start' as const) },
  { weight: 5, arbitrary: fc.record({ leaves: fc.nat() }) },
  // Multiples of a quarter of a millisecond, which are exact.
  { weight: 5, arbitrary: fc.integer({ min: 0, max: 1200 }).map(quarters => ({ passes: quarters / 4 })) },
  { weight: 1, arbitrary: fc.constant({ passes: 5000 }) },
  { weight: 1, arbitrary: fc.record({ sinceMs: fc.nat(LONGEST_BACKLOG_MS), windowMs: fc.nat(3000) }) },
  { weight: 1, arbitrary: fc.constant('unlimited' as const) },
  { weight: 1, arbitrary: fc.record({ allowed: fc.nat(20) }) },
)

it('property: only requests from before the queue, and allowed older ones, are left out', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 300, size: 'max' }), steps => {
      const counted = new CountedRequests(OPEN_MS)
      const inService: number[] = []
      const before = (atMs: number): number => inService.filter(startedAt => startedAt < atMs).length
      let nowMs = 0
      let backlogSince = Number.NEGATIVE_INFINITY
      for (const each of steps) {
        if (each === 'start') {
          counted.add()
          inService.push(nowMs)
        } else if (each === 'unlimited') {
          counted.unlimited()
          backlogSince = Number.NEGATIVE_INFINITY
        } else if ('leaves' in each) {
          if (inService.length > 0) counted.remove(inService.splice(each.leaves % inService.length, 1)[0]!)
        } else if ('passes' in each) {
          nowMs += each.passes
          counted.advance(nowMs)
        } else if ('allowed' in each) counted.allowed = each.allowed
        else {
          counted.unlimited()
          counted.limited(nowMs - each.sinceMs, each.windowMs, BACKLOG_MS)
          backlogSince = Math.min(nowMs - each.sinceMs, nowMs - BACKLOG_MS)
        }
        const { allowed, older, recent, uncounted, windowMs } = counted
        const at = `at ${nowMs} ms, since ${backlogSince} ms`
        assert.equal(counted.inService, inService.length)
        assert.ok(recent >= 0 && recent <= inService.length, `${recent} of ${inService.length} are recent ${at}`)
        assert.ok(older >= 0 && older <= before(nowMs - windowMs), `${older} are older ${at}`)
        assert.ok(uncounted >= Math.min(before(backlogSince), inService.length), `${uncounted} left out ${at}`)
        const most = before(backlogSince + SLOT_MS) + Math.min(older, allowed)
        assert.ok(uncounted <= most, `${uncounted} of ${inService.length} left out, at most ${most} ${at}`)
      }
    }),
    { numRuns: 1000 },
  )
})
