/** Which requests are refused while memory fills, and for how long. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { MemoryRoom } from '../../src/signals/memory-room.ts'

const MB = 1024 * 1024
const LIMIT = 256

/** A container of 256 MB that a process of 50 MB fills. */
class Filling {
  readonly room = new MemoryRoom(LIMIT * MB)
  nowMs = 0

  constructor() {
    this.at(50, { all: 0, bodies: 0 })
  }

  at(usedMb: number, inService: { all: number; bodies: number }, { own = usedMb, forMs = 20 } = {}): this {
    for (let left = forMs; left > 0; left -= 20) {
      this.nowMs += 20
      this.room.sampled({ nowMs: this.nowMs, usedBytes: usedMb * MB, ownBytes: own * MB }, inService)
    }
    return this
  }

  refuses(inService: { all: number; bodies: number }): { body: boolean; none: boolean } {
    const { nowMs, room } = this
    return { body: room.refuses(true, inService, nowMs), none: room.refuses(false, inService, nowMs) }
  }
}
const NEITHER = { body: false, none: false }

describe('MemoryRoom', () => {
  it('refuses no request at half of the limit, however fast usage has grown', () => {
    const filling = new Filling().at(128, { all: 70, bodies: 70 })
    assert.deepEqual(filling.refuses({ all: 500, bodies: 500 }), NEITHER)
    assert.equal(filling.room.mayRefuse, false)
  })

  it('refuses requests with bodies first, beyond the number that was in service', () => {
    const many = { all: 110, bodies: 100 }
    const filling = new Filling().at(150, many, { forMs: 500 })
    for (let used = 155; used <= 195; used += 5) filling.at(used, many, { forMs: 100 })
    assert.deepEqual(filling.refuses(many), { body: true, none: false })
    assert.deepEqual(filling.refuses({ all: 60, bodies: 50 }), NEITHER)
    filling.at(225, many)
    assert.deepEqual(filling.refuses(many), { body: true, none: true })
  })

  it('admits fewer requests while usage keeps growing', () => {
    const filling = new Filling()
    for (let used = 195; used < 230; used += 5) filling.at(used, { all: 100, bodies: 100 }, { forMs: 100 })
    assert.deepEqual(
      [85, 75].map(bodies => filling.refuses({ all: bodies, bodies }).body),
      [true, false],
    )
    filling.at(235, { all: 50, bodies: 50 }, { forMs: 100 })
    assert.deepEqual(
      [45, 20].map(bodies => filling.refuses({ all: bodies, bodies }).body),
      [true, false],
    )
  })

  it('refuses a request with a body earlier if usage grows fast', () => {
    const filling = new Filling()
    for (let used = 60; used <= 160; used += 10) filling.at(used, { all: used, bodies: used })
    assert.equal(filling.refuses({ all: 160, bodies: 160 }).body, true)
  })

  it('admits as many as before while usage stays high without requests, as allocators keep memory', () => {
    const filling = new Filling().at(195, { all: 100, bodies: 100 }, { forMs: 200 })
    filling.at(195, { all: 0, bodies: 0 }, { forMs: 3000 })
    assert.deepEqual(filling.refuses({ all: 80, bodies: 80 }), NEITHER)
    assert.equal(filling.refuses({ all: 100, bodies: 100 }).body, true)
  })

  it('refuses no request of a busy service whose memory stays as it is', () => {
    const filling = new Filling()
    for (let used = 60; used <= 225; used += 1) filling.at(used, { all: 5, bodies: 0 }, { forMs: 200 })
    filling.at(225, { all: 5, bodies: 0 }, { forMs: 25_000 })
    assert.deepEqual(filling.refuses({ all: 40, bodies: 0 }), NEITHER)
    assert.equal(filling.room.mayRefuse, false)
    // Memory that is added from then on counts as that of the requests.
    for (let used = 226; used <= 240; used += 1) filling.at(used, { all: 40, bodies: 0 }, { forMs: 100 })
    assert.equal(filling.refuses({ all: 40, bodies: 0 }).none, true)
  })

  it('admits requests again while usage stays constant above the last mark, until it grows', () => {
    const filling = new Filling()
    const few = { all: 5, bodies: 0 }
    for (let used = 60; used <= 250; used += 5) filling.at(used, few, { forMs: 100 })
    filling.at(250, few, { forMs: 1000 })
    assert.equal(filling.refuses({ all: 1, bodies: 0 }).none, true)
    filling.at(250, few, { forMs: 10_000 })
    assert.equal(filling.refuses(few).none, false)
    filling.at(252, few)
    assert.equal(filling.refuses({ all: 1, bodies: 0 }).none, true)
    filling.at(252, few, { forMs: 40_000 })
    assert.equal(filling.room.mayRefuse, false)
  })

  it('admits regular bursts again while usage stays flat', () => {
    const filling = new Filling()
    for (let used = 60; used <= 225; used += 1) filling.at(used, { all: 5, bodies: 0 }, { forMs: 200 })
    assert.equal(filling.refuses({ all: 40, bodies: 0 }).none, true)
    for (let burst = 0; burst < 12; burst++) {
      filling.at(225, { all: 5, bodies: 0 }, { forMs: 2000 })
      filling.refuses({ all: 40, bodies: 0 })
    }
    assert.equal(filling.refuses({ all: 39, bodies: 0 }).none, false)
  })

  it('admits only as many more as there is room for, because kept memory hides what the added requests need', () => {
    const many = { all: 150, bodies: 150 }
    const filling = new Filling().at(60, { all: 0, bodies: 0 }).at(231, many, { forMs: 600 })
    filling.at(231, many, { forMs: 600 })
    const refused = [149, 158, 186].map(bodies => filling.refuses({ all: bodies, bodies }).body)
    assert.deepEqual(refused, [false, true, true])
  })

  it('refuses no request for a cache that was filled before any request arrived', () => {
    const filling = new Filling().at(200, { all: 0, bodies: 0 }, { forMs: 6000 })
    assert.deepEqual(filling.refuses({ all: 1, bodies: 1 }), NEITHER)
    filling.at(200, { all: 10, bodies: 10 }, { forMs: 1000 }).at(205, { all: 10, bodies: 10 }, { forMs: 1000 })
    assert.deepEqual(filling.refuses({ all: 20, bodies: 20 }), NEITHER)
  })

  it('begins with the most recently in service, not with the number at one moment', () => {
    const filling = new Filling()
    for (let used = 60; used < 191; used++) filling.at(used, { all: 20, bodies: 20 }, { forMs: 400 })
    filling.at(192, { all: 2, bodies: 2 }, { forMs: 400 })
    assert.deepEqual(
      [19, 20].map(bodies => filling.refuses({ all: bodies, bodies }).body),
      [false, true],
    )
  })

  it('admits more and more while usage stays flat, and forgets its limit when it is not reached', () => {
    const filling = new Filling().at(195, { all: 100, bodies: 100 }, { forMs: 200 })
    filling.at(195, { all: 200, bodies: 200 }, { forMs: 12_000 })
    assert.equal(filling.refuses({ all: 150, bodies: 150 }).body, false)
    filling.at(150, { all: 10, bodies: 10 }, { forMs: 6000 })
    assert.equal(filling.room.mayRefuse, false)
  })

  it('always admits one request, however full it is', () => {
    const filling = new Filling().at(255, { all: 20, bodies: 20 }, { forMs: 200 })
    assert.deepEqual(filling.refuses({ all: 20, bodies: 0 }), { body: true, none: true })
    assert.deepEqual(filling.refuses({ all: 0, bodies: 0 }), NEITHER)
  })

  it('refuses no request if another process fills the group', () => {
    const busy = { all: 100, bodies: 100 }
    const filling = new Filling().at(252, busy, { own: 60, forMs: 2000 })
    assert.deepEqual(filling.refuses(busy), NEITHER)
    assert.deepEqual([filling.room.isFullOfOthers, filling.room.pacesBodies], [true, false])
  })

  it('leaves a large container more of its memory than a small one', () => {
    const room = new MemoryRoom(16_384 * MB)
    room.sampled({ nowMs: 0, usedBytes: 50 * MB, ownBytes: 50 * MB }, { all: 0, bodies: 0 })
    for (let used = 50; used < 15_900; used += 20) {
      room.sampled({ nowMs: used, usedBytes: used * MB, ownBytes: used * MB }, { all: 9, bodies: 9 })
    }
    assert.equal(room.mayRefuse, false)
  })

  it('requests a garbage collection before it refuses, less and less often while that frees little', () => {
    const filling = new Filling()
    const asked: number[] = []
    for (let at = 0; at < 60_000; at += 20) {
      filling.at(175, { all: 50, bodies: 50 })
      if (filling.room.wantsCollection(filling.nowMs)) asked.push(filling.nowMs)
    }
    assert.equal(filling.room.mayRefuse, false)
    assert.ok(asked.length >= 3 && asked.length <= 7, String(asked))
    assert.equal(new Filling().at(100, { all: 50, bodies: 50 }).room.wantsCollection(1e9), false)
  })

  it('is checked more often the less memory is left', () => {
    const filling = new Filling()
    const every = [60, 120, 180, 250].map(used => filling.at(used, { all: 1, bodies: 1 }).room.nextInMs)
    assert.deepEqual(
      every,
      [...every].sort((a, b) => b - a),
    )
    assert.equal(every.at(-1), 5)
  })
})
