/** What HAProxy is told, figure by figure. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { Advice, DRAIN, type Figures } from '../../src/haproxy/advice.ts'
import { Balancers } from '../../src/haproxy/balancers.ts'

const EVERY_MS = 500
const IDLE: Figures = {
  abandoned: 0,
  admitted: 0,
  draining: false,
  dryRun: false,
  inflight: 0,
  limit: 16,
  limitKnown: false,
  open: 0,
  queued: 0,
  shed: { standing: 0 } as Figures['shed'],
}
/** Its limit of 10 binds, and four more wait. */
const FULL: Figures = { ...IDLE, limit: 10, limitKnown: true, inflight: 10, queued: 4, open: 14 }
const PROBED: Partial<Figures> = { limit: 5, inflight: 5, queued: 9 }
const sheds = (standing: number): Partial<Figures> => ({ shed: { standing } as Figures['shed'] })
const RELEASED = 200

/** Asks again and again; each look may change the figures. */
class Asked {
  readonly #advice = new Advice()
  readonly #balancers: number
  #nowMs = 0
  #figures: Figures

  constructor(figures: Figures, balancers = 1) {
    this.#figures = figures
    this.#balancers = balancers
  }

  line(change: Partial<Figures> = {}, came = 10): string {
    this.#figures = { ...this.#figures, admitted: this.#figures.admitted + came, ...change }
    this.#nowMs += EVERY_MS
    return this.#advice.line(this.#figures, this.#nowMs, this.#balancers)
  }

  /** Its first sheds. */
  static overloaded(figures: Figures, balancers = 1): Asked {
    const asked = new Asked(figures, balancers)
    asked.line()
    asked.line(sheds(1))
    return asked
  }

  /** Undefined: it says nothing of it. */
  maxconn(change?: Partial<Figures>, came?: number): number | undefined {
    const line = this.line(change, came)
    const told = /^up 100%(?: maxconn:(\d+))?\n$/.exec(line)
    assert.ok(told, line)
    return told[1] === undefined ? undefined : Number(told[1])
  }
}

describe('the number', () => {
  it('is none before the first sheds: a burst is for the service itself to queue', () => {
    const asked = new Asked(FULL)
    for (const queued of [4, 100, 30, 8]) assert.equal(asked.maxconn({ queued, open: 10 + queued }), undefined)
    assert.equal(
      asked.maxconn({ shed: { deadline: 5, memory: 5 } as Figures['shed'] }),
      undefined,
      'no want of capacity',
    )
    assert.equal(asked.maxconn(sheds(1)), 14)
  })

  it('is given too when no queue is shed, and none gets shorter', () => {
    const asked = new Asked({ ...FULL, queued: 22, open: 32 })
    for (let i = 1; i < 4; i++) assert.equal(asked.maxconn(), undefined)
    assert.equal(asked.maxconn(), 14)
  })

  it('is more than the limit, so that it still binds here', () => {
    assert.equal(Asked.overloaded(FULL).maxconn(), 14)
  })

  it('has room for 30 ms of work, however quick that is', () => {
    const asked = Asked.overloaded(FULL)
    for (let i = 0; i < 20; i++) asked.maxconn({ queued: 60, open: 70 }, 1000)
    assert.equal(asked.maxconn({ queued: 60, open: 70 }, 1000), 10 + 60)
  })

  it('has room for what flows without a permit, and none for requests whose client has left', () => {
    assert.equal(Asked.overloaded({ ...FULL, open: 114 }).maxconn(), 114)
    assert.equal(Asked.overloaded({ ...FULL, abandoned: 6, open: 8 }).maxconn(), 4 + 4)
    assert.equal(Asked.overloaded({ ...FULL, abandoned: 10, queued: 5, open: 5 }).maxconn(), 1 + 4)
  })

  it('does not follow the limiter into a probe, and follows a lower limit after two seconds', () => {
    const asked = Asked.overloaded(FULL)
    for (let ms = EVERY_MS; ms < 2000; ms += EVERY_MS) assert.equal(asked.maxconn(PROBED), 14)
    assert.equal(asked.maxconn(PROBED), 9)
  })

  it('follows at once when there is too much for it', () => {
    assert.equal(Asked.overloaded(FULL).maxconn({ ...PROBED, ...sheds(20) }), 9)
  })

  it('is given where handlers never wait: their loop is overloaded, and no limit is ever found', () => {
    assert.equal(Asked.overloaded({ ...IDLE, inflight: 1, queued: 20, open: 21 }).maxconn(), 1 + 4)
  })

  it('is not there in a dry run, in which nobody is held up', () => {
    const asked = new Asked({ ...FULL, dryRun: true })
    for (let i = 1; i < 10; i++) assert.equal(asked.maxconn(sheds(i * 100)), undefined)
  })
})

describe('a number that is not needed any more', () => {
  it('stays while as many come as may', () => {
    const asked = Asked.overloaded(FULL)
    for (let i = 0; i < 100; i++) assert.equal(asked.maxconn(), 14)
  })

  it('stays in a service so slow that none is admitted between two looks', () => {
    const asked = Asked.overloaded(FULL)
    for (let i = 0; i < 10; i++) assert.equal(asked.maxconn({}, 0), 14)
  })

  it('goes when fewer come, in more than a moment', () => {
    const asked = Asked.overloaded(FULL)
    for (let i = 0; i < 4; i++) assert.equal(asked.maxconn({ inflight: 6, queued: 0, open: 6 }), 14)
    for (const rises of [28, 56, 112, RELEASED, RELEASED]) assert.equal(asked.maxconn(), rises)
  })

  it('goes at once when it is what holds the service: all of them are in service', () => {
    const asked = Asked.overloaded(FULL)
    assert.equal(asked.maxconn({ limit: 200, inflight: 14, queued: 0, open: 14 }), 28)
  })

  it('goes when meltproof has stepped aside, and sees nobody any more', () => {
    const asked = Asked.overloaded(FULL)
    for (let i = 0; i < 10; i++) asked.maxconn({ limitKnown: false, inflight: 0, queued: 0, open: 0 }, 0)
    assert.equal(asked.maxconn({}, 0), RELEASED)
  })

  it('may be that of a predecessor: where the number of requests stands, it goes', () => {
    const asked = new Asked({ ...IDLE, inflight: 12, open: 12 })
    for (let i = 1; i < 4; i++) assert.equal(asked.maxconn({ open: 12 - (i % 2) }), undefined)
    let told = asked.maxconn()!
    assert.ok(told >= 22, `${told}`)
    for (let i = 0; i < 8; i++) {
      const more = asked.maxconn({ inflight: told, open: told })!
      assert.equal(more, 2 * told, 'nor does this one hold it')
      told = more
    }
  })
})

it('what an operator has set for a start goes after some looks at which nobody waits', () => {
  const asked = new Asked({ ...IDLE, inflight: 3, open: 3 })
  for (const open of [3, 9, 0, 5, 1, 12, 0, 2, 7]) assert.equal(asked.maxconn({ open, inflight: open }), undefined)
  assert.equal(asked.maxconn({ open: 0, inflight: 0 }), RELEASED)
  const waits = new Asked({ ...FULL, limitKnown: false })
  for (let i = 0; i < 30; i++) assert.equal(waits.maxconn(), undefined)
})

describe('several balancers', () => {
  it('have the whole each while that fits, and share it when it does not', () => {
    const asked = Asked.overloaded(FULL, 2)
    assert.equal(asked.maxconn({ queued: 18, open: 28 }), 7)
    // One of them sends nothing.
    assert.equal(asked.maxconn({ inflight: 7, queued: 0, open: 7 }), 14)
  })

  it('are those that ask again and again', () => {
    const balancers = new Balancers()
    for (let ms = 0; ms < 20_000; ms += EVERY_MS) {
      balancers.asks('10.0.0.1', ms)
      if (ms > 5000 && ms < 8000) balancers.asks('10.0.0.2', ms)
      if (ms === 9000) assert.equal(balancers.count, 2)
    }
    balancers.asks('a person', 20_000)
    assert.equal(balancers.count, 1)
  })

  it('that are made up are not kept', () => {
    const balancers = new Balancers()
    for (let i = 0; i < 10_000; i++) balancers.asks(String(i), i / 100)
    assert.ok(balancers.addresses.length < 100)
  })
})

it('a server that drains, or none, gets nothing; the word is none that only `ready` takes back', () => {
  assert.equal(new Asked(FULL).line({ draining: true }), DRAIN)
  assert.equal(new Advice().line(undefined, 0, 1), DRAIN)
  assert.match(DRAIN, /^up 0%\n$/)
})

it('whatever the figures, HAProxy understands the line, and is never told 0, which means no end', () => {
  const count = fc.nat({ max: 20_000 })
  const figures = fc.record({
    ...{ abandoned: count, admitted: count, inflight: count, limit: count, open: count, queued: count },
    ...{ draining: fc.boolean(), dryRun: fc.boolean(), limitKnown: fc.boolean() },
    shed: count.map(standing => ({ standing }) as Figures['shed']),
  })
  const looks = fc.array(fc.tuple(figures, fc.integer({ min: 0, max: 5000 })), { maxLength: 20 })
  fc.assert(
    fc.property(looks, fc.integer({ min: 1, max: 5 }), (all, balancers) => {
      const advice = new Advice()
      let nowMs = 0
      for (const [each, laterMs] of all) {
        nowMs += laterMs
        const line = advice.line(each, nowMs, balancers)
        assert.match(line, /^up (?:0%|100%(?: maxconn:[1-9]\d{0,4})?)\n$/)
        assert.ok(Number(/maxconn:(\d+)/.exec(line)?.[1] ?? 1) <= 10_000)
      }
    }),
  )
})
