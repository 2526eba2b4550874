/** The line that HAProxy gets, for given figures. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { Advice, DRAIN, type Figures, RELEASE } from '../../src/haproxy/advice.ts'
import { Balancers } from '../../src/haproxy/agent-server.ts'

const EVERY_MS = 200
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
  utilisation: 0,
}
/** The limit of 10 is reached, and four more requests wait. */
const FULL: Figures = { ...IDLE, limit: 10, limitKnown: true, inflight: 10, queued: 4, open: 14, utilisation: 1 }
const sheds = (standing: number): Partial<Figures> => ({ shed: { standing } as Figures['shed'] })
const NOTHING = 'up 100%\n'
const OPEN = 400
/** Checks until the service counts as idle. */
const REST = 2000 / EVERY_MS

/** Repeats the agent check. Each check may change the figures. */
class Asked {
  readonly #advice = new Advice()
  #nowMs = 0
  #figures: Figures

  constructor(figures: Figures) {
    this.#figures = figures
  }

  line(change: Partial<Figures> = {}, came = 2): string {
    this.#figures = { ...this.#figures, admitted: this.#figures.admitted + came, ...change }
    this.#nowMs += EVERY_MS
    return this.#advice.line(this.#figures, this.#nowMs)
  }

  /** Returns a service that has just shed for the first time. */
  static overloaded(figures: Figures): Asked {
    const asked = new Asked(figures)
    asked.line()
    asked.line(sheds(1))
    return asked
  }

  static released(): Asked {
    const asked = new Asked({ ...IDLE, open: 3, inflight: 3 })
    for (let i = 0; i < REST + 6; i++) asked.line()
    return asked
  }

  maxconn(change?: Partial<Figures>, came?: number): number {
    const line = this.line(change, came)
    const told = /^up 100% maxconn:(\d+)\n$/.exec(line)
    assert.ok(told, line)
    return Number(told[1])
  }
}

describe('maxconn without overload', () => {
  it('is not sent until the service has been idle enough for two seconds', () => {
    const asked = new Asked({ ...IDLE, inflight: 3, open: 3 })
    for (let i = 0; i < REST; i++) assert.equal(asked.line(), NOTHING)
    for (let i = 0; i < 5; i++) assert.equal(asked.maxconn(), OPEN)
  })

  it('is not sent while the service is busy or requests wait', () => {
    const busy = new Asked({ ...IDLE, inflight: 3, open: 3, utilisation: 1 })
    const waits = new Asked({ ...IDLE, inflight: 16, queued: 4, open: 20, utilisation: 0.5 })
    for (let i = 0; i < 30; i++) assert.deepEqual([busy.line(), waits.line()], [NOTHING, NOTHING])
  })

  it('is large enough to leave a burst to the service', () => {
    const asked = Asked.released()
    for (const queued of [300, 200, 100, 8]) {
      assert.equal(
        asked.maxconn({ limitKnown: true, inflight: 16, queued, open: 16 + queued, utilisation: 0.95 }),
        OPEN,
      )
    }
    const others = { deadline: 5, memory: 5 } as Figures['shed']
    assert.equal(asked.maxconn({ shed: others }), OPEN, 'no want of capacity')
  })

  it('is twice the number of open requests if that is more', () => {
    const asked = Asked.released()
    for (const open of [390, 780, 1560]) assert.equal(asked.maxconn({ inflight: open, open }), 2 * open)
  })

  it('is released in a dry run, also from an earlier value', () => {
    const asked = new Asked({ ...FULL, dryRun: true })
    for (let i = 0; i < 10; i++) assert.equal(asked.line(sheds(i * 100)), RELEASE)
  })
})

describe('maxconn under overload', () => {
  it('is sent with the first sheds, as the limit plus a queue of four', () => {
    assert.equal(Asked.overloaded(FULL).maxconn(), 14)
    const asked = Asked.released()
    assert.equal(asked.maxconn({ ...FULL, queued: 300, open: 310 }), OPEN)
    assert.equal(asked.maxconn({ queued: 200, open: 210, ...sheds(1) }), 14)
  })

  it('is sent when the limit is known and requests wait, even without sheds', () => {
    assert.equal(new Asked({ ...FULL, queued: 10, open: 20 }).maxconn(), 14)
  })

  it('adds a queue of 30 ms of work to the limit, however quick the work is', () => {
    const asked = Asked.overloaded(FULL)
    for (let i = 0; i < 40; i++) asked.maxconn({ queued: 60, open: 70 }, 400)
    assert.equal(asked.maxconn({ queued: 60, open: 70 }, 400), 10 + 60)
  })

  it('leaves room for requests without a permit, and none for those whose client has left', () => {
    assert.equal(Asked.overloaded({ ...FULL, open: 114 }).maxconn(), 114)
    assert.equal(Asked.overloaded({ ...FULL, abandoned: 6, open: 8 }).maxconn(), 4 + 4)
    assert.equal(Asked.overloaded({ ...FULL, abandoned: 10, queued: 5, open: 5 }).maxconn(), 1 + 4)
  })

  it('falls where handlers never wait, although no limit is ever found', () => {
    const asked = Asked.overloaded({ ...IDLE, inflight: 20, open: 20, utilisation: 1 })
    const told = [16, asked.maxconn({ inflight: 16, open: 16 })]
    for (let i = 0; i < 15; i++) told.push(asked.maxconn({ inflight: told.at(-1)!, open: told.at(-1)! }))
    assert.deepEqual(told.slice(0, 3), [16, 13, 10])
    assert.equal(told.at(-1), 1 + 4)
  })

  it('stays while the service is busy, even if no request is admitted between two checks', () => {
    const asked = Asked.overloaded(FULL)
    for (let i = 0; i < 50; i++) assert.equal(asked.maxconn(), 14)
    for (let i = 0; i < 50; i++) assert.equal(asked.maxconn({ queued: 0, open: 10 }), 14, 'not all of them were read')
    for (let i = 0; i < 10; i++) assert.equal(asked.maxconn({}, 0), 14)
  })

  it('rises again after two idle seconds, also when meltproof has stepped aside', () => {
    const asked = Asked.overloaded(FULL)
    for (let i = 1; i < REST; i++)
      assert.equal(asked.maxconn({ inflight: 6, queued: 0, open: 6, utilisation: 0.6 }), 14)
    for (const rises of [28, 56, 112, 224, OPEN, OPEN]) assert.equal(asked.maxconn({ inflight: 0, open: 0 }, 0), rises)
  })
})

describe('balancers', () => {
  it('are clients that polled within the last ten seconds', () => {
    const balancers = new Balancers()
    balancers.asks('10.0.0.1', 0)
    balancers.asks('10.0.0.2', 9000)
    assert.deepEqual(balancers.addresses, ['10.0.0.1', '10.0.0.2'])
    balancers.asks('10.0.0.2', 10_001)
    assert.deepEqual(balancers.addresses, ['10.0.0.2'])
  })

  it('are not kept without bound if addresses are made up', () => {
    const balancers = new Balancers()
    for (let i = 0; i < 10_000; i++) balancers.asks(String(i), i / 100)
    assert.ok(balancers.addresses.length < 100)
  })
})

it("a draining server, or no server, gets a weight of 0 %, which needs no 'ready' to be undone", () => {
  assert.equal(new Asked(FULL).line({ draining: true }), DRAIN)
  assert.equal(new Advice().line(undefined, 0), DRAIN)
  assert.match(DRAIN, /^up 0%\n$/)
})

it('property: HAProxy can parse every line, and maxconn is never 0', () => {
  const count = fc.nat({ max: 20_000 })
  const figures = fc.record({
    ...{ abandoned: count, admitted: count, inflight: count, limit: count, open: count, queued: count },
    ...{ draining: fc.boolean(), dryRun: fc.boolean(), limitKnown: fc.boolean() },
    utilisation: fc.float({ min: 0, max: 1, noNaN: true }),
    shed: count.map(standing => ({ standing }) as Figures['shed']),
  })
  const looks = fc.array(fc.tuple(figures, fc.integer({ min: 0, max: 5000 })), { maxLength: 20 })
  fc.assert(
    fc.property(looks, all => {
      const advice = new Advice()
      let nowMs = 0
      for (const [each, laterMs] of all) {
        nowMs += laterMs
        const line = advice.line(each, nowMs)
        assert.match(line, /^up (?:0%|100%(?: maxconn:[1-9]\d{0,4})?)\n$/)
        assert.ok(Number(/maxconn:(\d+)/.exec(line)?.[1] ?? 1) <= 10_000)
      }
    }),
  )
})
