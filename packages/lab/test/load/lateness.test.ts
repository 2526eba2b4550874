/** How long answers may have waited unread. The tests simulate the event loop turn by turn, and check the bound. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { BusyPeriod } from '../../src/load/busy-period.ts'
import { FREEZE_MS, Lateness } from '../../src/load/lateness.ts'
import { CoreSharing, napMs } from '../../src/load/pacer.ts'
import { parseSchedstat, schedulingOfThisThread } from '../../src/load/scheduling.ts'

const started = (now = 0): Lateness => {
  const lateness = new Lateness()
  lateness.start(now)
  return lateness
}

describe('Lateness', () => {
  it('counts a response as unread since the last poll that did not find it', () => {
    const lateness = started()
    lateness.polls(10)
    lateness.alive(10.5)
    lateness.polls(10.6)
    // It may have arrived just after the poll at 10.
    lateness.alive(11)
    assert.equal(lateness.unreadMs, 1)
  })

  it('after a timer is the delay by the scheduler, or the whole sleep if the delay is unknown', () => {
    const woken = (delayMs: number, turns = 1): number => {
      const lateness = started()
      lateness.sleeps(0.01, 5, { delayMs: 100, turns: 7 })
      lateness.woke(4, { delayMs: 100 + delayMs, turns: 7 + turns })
      return lateness.unreadMs
    }
    assert.equal(woken(0), 0)
    assert.equal(woken(3.5), 3.5)
    // The thread ran twice since it fell asleep, so it was stopped or preempted at an unknown time.
    assert.equal(woken(0, 2), 4)
    // The thread never slept: the answer arrived after the poll at 0.
    assert.equal(woken(0, 0), 4)
  })

  it('after a timer is 0 without scheduler statistics, unless the timer was late', () => {
    const woken = (now: number): number => {
      const lateness = started()
      lateness.sleeps(0.01, 5, undefined)
      lateness.woke(now, undefined)
      return lateness.unreadMs
    }
    assert.equal(woken(4), 0)
    assert.equal(woken(30), 30)
  })

  it('requires reading first after a gap, until a poll that began after the gap has ended', () => {
    const lateness = started()
    lateness.polls(1)
    assert.equal(lateness.mustRead, false)
    lateness.alive(60)
    assert.equal(lateness.mustRead, true)
    assert.equal(lateness.readUpTo, 1)
    lateness.polls(60.1)
    // The poll found one answer, but other answers of that time may still be unread.
    lateness.alive(60.2)
    assert.equal(lateness.catchingUp, true)
    assert.equal(lateness.mustRead, false)
    assert.equal(lateness.readUpTo, 60.1)
    lateness.polls(60.3)
    assert.equal(lateness.catchingUp, false)
  })

  it('records a freeze, but not a nap', () => {
    const lateness = started()
    lateness.naps(500)
    lateness.polls(500.1)
    lateness.sleeps(500.2, 505, undefined)
    lateness.woke(505, undefined)
    assert.deepEqual(lateness.freezes, [])
    lateness.alive(505 + FREEZE_MS)
    assert.deepEqual(lateness.freezes, [{ atMs: 505, lengthMs: FREEZE_MS }])
  })

  it('never reports less than the time that a response has waited, however long turns and polls take', () => {
    // Turns take `work`, polls return at once, and answers arrive at any time.
    const turn = fc.record({
      work: fc.double({ min: 0, max: 50, noNaN: true }),
      hold: fc.double({ min: 0, max: 50, noNaN: true }),
      reading: fc.double({ min: 0, max: 10, noNaN: true }),
      comes: fc.double({ min: 0, max: 1, noNaN: true }),
    })
    fc.assert(
      fc.property(fc.array(turn, { minLength: 2, maxLength: 20 }), turns => {
        const lateness = started()
        let now = 0
        let unread: number[] = []
        for (const { work, hold, reading, comes } of turns) {
          lateness.alive(now)
          const from = now
          now += work
          lateness.polls(now)
          // The thread is held between the end of the turn and the poll.
          now += hold
          unread.push(from + comes * (now - from))
          const read = unread
          unread = []
          // This answer arrives after the poll, while the answers that the poll found are read.
          unread.push(now + comes * reading)
          now += reading
          for (const came of read) {
            lateness.alive(now)
            assert.ok(lateness.unreadMs >= now - came - 1e-9, `${lateness.unreadMs} < ${now - came}`)
          }
        }
      }),
    )
  })
})

describe('BusyPeriod', () => {
  it('charges the lateness of its first request to all that follow, until no request is in flight', () => {
    const period = new BusyPeriod()
    const sent: readonly [lateMs: number, inflight: number, own: number][] = [
      [0.1, 0, 0.1],
      [50, 0, 50],
      [40, 1, 50],
      [0, 9, 50],
      [60, 9, 60],
      [0, 0, 0],
      [60, 9, 60],
      [0, 9, 0],
    ]
    for (const [lateMs, inflight, own] of sent) assert.equal(period.delayOf(lateMs, inflight, 1), own)
  })

  it('ends when the number in flight is back at the usual level', () => {
    const period = new BusyPeriod()
    let now = 0
    // A server that takes 5 ms for every request: five in flight at 1,000/s.
    for (; now < 3000; now++) period.delayOf(0, now < 5 ? now : 5, now)
    const burst = Array.from({ length: 50 }, (_, k) => period.delayOf(50 - k, k, now + 50))
    assert.ok(Math.min(...burst.slice(0, 40)) >= 10)
    assert.equal(period.delayOf(0, 40, now + 51), 45)
    assert.equal(period.delayOf(0, 5, now + 56), 0)
    assert.equal(period.delayOf(0, 6, now + 57), 0)
  })

  it('bounds the delay that late requests cause in a server that serves in order', () => {
    const times = fc.array(
      fc.record({
        gap: fc.double({ min: 0, max: 20, noNaN: true }),
        service: fc.double({ min: 0.01, max: 20, noNaN: true }),
        late: fc.double({ min: 0, max: 60, noNaN: true }),
        stops: fc.boolean(),
      }),
      { minLength: 1, maxLength: 60 },
    )
    fc.assert(
      fc.property(times, requests => {
        const period = new BusyPeriod()
        let due = 0
        let sent = 0
        let truth = 0
        const ends: number[] = []
        for (const { gap, service, late, stops } of requests) {
          due += gap
          sent = Math.max(sent, due + (stops ? late : 0))
          truth = Math.max(truth, due) + service
          const end = Math.max(ends.at(-1) ?? 0, sent) + service
          const own = period.delayOf(sent - due, ends.filter(one => one > sent).length, 1)
          ends.push(end)
          assert.ok(end - due - own <= truth - due + 1e-6, `clean ${end - due - own}, truth ${truth - due}`)
        }
      }),
    )
  })
})

describe('the scheduler statistics of a thread', () => {
  it('are parsed from schedstat, and undefined if that is missing or invalid', () => {
    assert.deepEqual(parseSchedstat('123 4500000 7\n'), { delayMs: 4.5, turns: 7 })
    for (const text of ['', '0 0 0\n', 'garbage', '1 2']) assert.equal(parseSchedstat(text), undefined)
  })

  it('are read for the current thread on Linux', { skip: process.platform !== 'linux' }, () => {
    const read = schedulingOfThisThread()
    const before = read()
    if (before === undefined) return // This kernel has no such statistics.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5)
    assert.ok(read()!.turns > before.turns)
  })
})

describe('a worker that shares its core', () => {
  /** Checks every millisecond, after the worker was kept waiting for these shares of the time. */
  const yieldsAfter = (shares: readonly number[]): boolean[] => {
    const sharing = new CoreSharing()
    let [now, delayMs] = [0, 1000]
    return shares.map(share => {
      let yields = false
      for (const end = now + 100; now < end; now++, delayMs += share) {
        yields = sharing.yields(now, () => ({ delayMs, turns: 1 }))
      }
      return yields
    })
  }

  it('yields the core for ten seconds after another process has wanted it', () => {
    assert.deepEqual(yieldsAfter([0, 0.02, 0]), [false, false, false])
    assert.deepEqual(yieldsAfter([0, 0.2, 0]), [false, true, true])
    const tenSeconds = yieldsAfter([0.2, ...Array.from({ length: 101 }, () => 0)])
    assert.deepEqual([tenSeconds.at(-3), tenSeconds.at(-1)], [true, false])
  })

  it('does not yield without scheduler statistics', () => {
    const sharing = new CoreSharing()
    for (let now = 0; now < 1000; now++)
      assert.equal(
        sharing.yields(now, () => undefined),
        false,
      )
  })

  it('takes short naps while responses are due, and wakes before it has to send', () => {
    const quick = { behind: false, busy: true, answerScaleMs: 0.3, ratePerMs: 1 }
    assert.equal(napMs(1, quick, false), 0)
    const nap = napMs(1, quick, true)
    assert.ok(nap > 0.1 && nap <= 0.2, `${nap} ms`)
    assert.ok(Math.abs(napMs(0.15, quick, true) - 0.05) < 1e-9)
    assert.equal(napMs(0.05, quick, true), 0)
    assert.equal(napMs(1, { ...quick, behind: true }, true), 0, 'a request that waits is not kept waiting')
  })
})
