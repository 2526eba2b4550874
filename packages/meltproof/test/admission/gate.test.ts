import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { classOf, LEVELS, levelOf } from '../../src/admission/queue/criticality.ts'
import { type Entry as GateEntry, GATE_TUNING, Gate, type GateHooks, PATIENT_TUNING } from '../../src/admission/gate.ts'
import type { Ticket } from '../../src/admission/limiter/cohorts.ts'
import { fixedLimit, type Limiter } from '../../src/admission/limiter/limiter.ts'
import { StandingQueue } from '../../src/admission/queue/standing-queue.ts'
import type { ShedReason } from '../../src/admission/sheds.ts'

interface Entry extends GateEntry {
  readonly id: number
  /** The result of the level hook. */
  readonly worth?: number
  /** The result of the startBy hook. */
  readonly mustStartBy?: number
  /** The result of the kind hook, where kinds are used. */
  readonly kindIs?: number
  /** @default true if `quickMs` is given */
  readonly isQuick?: boolean
}

const entryOf = (id: number): Entry => ({
  id,
  arrivedAt: 0,
  dequeued: false,
  startBy: Number.POSITIVE_INFINITY,
  resumesUpload: false,
})

/** A gate on a clock that the test moves. It records what it does. */
function gateOn(
  limiter: Limiter,
  levels = false,
  tuning = GATE_TUNING,
  { quickMs = Number.POSITIVE_INFINITY, kinds = false } = {},
) {
  const world = {
    now: 0,
    started: [] as number[],
    shed: [] as [number, ShedReason][],
    turn: 0,
    turnEnds: 0,
    wakeAt: Number.POSITIVE_INFINITY,
  }
  const hooks: GateHooks<Entry> = {
    now: () => world.now,
    turn: () => world.turn,
    start: entry => world.started.push(entry.id),
    shed: (entry, reason) => world.shed.push([entry.id, reason]),
    wakeAtTurnEnd: () => world.turnEnds++,
    wakeAfter: ms => {
      world.wakeAt = world.now + ms
    },
    level: levels ? entry => entry.worth ?? levelOf() : undefined,
    startBy: entry => entry.mustStartBy ?? Number.POSITIVE_INFINITY,
    kind: kinds ? entry => entry.kindIs ?? 0 : undefined,
    quickMs: entry => (entry.isQuick === false ? Number.POSITIVE_INFINITY : quickMs),
  }
  const gate = new Gate<Entry>(limiter, hooks, tuning)
  let nextId = 0
  const come = (how: Partial<Entry>): { entry: Entry; decision: string } => {
    const entry = { ...entryOf(nextId++), ...how }
    const decision = entry.resumesUpload ? gate.offerResumed(entry, world.now) : gate.offer(entry, world.now)
    if (decision === 'start') world.started.push(entry.id)
    return { entry, decision }
  }
  return {
    gate,
    world,
    come,
    /** A request arrives. Its handler yields at once. */
    arrive: (worth?: number) => come(worth === undefined ? {} : { worth }),
    release(): void {
      gate.release(world.now, 1, entryOf(0))
    },
    endTurn(): void {
      gate.turnEnded(world.now)
      world.turn++
    },
    /** Lets time pass, and wakes the gate at each time that it requested. */
    pass(ms: number): void {
      const until = world.now + ms
      while (world.wakeAt <= until) {
        world.turn++
        world.now = world.wakeAt
        world.wakeAt = Number.POSITIVE_INFINITY
        gate.wakeUp(world.now)
      }
      world.now = until
    },
  }
}

test('the gate starts requests up to the limit, and queues the rest in order of arrival', () => {
  const { gate, world, arrive, release, endTurn } = gateOn(fixedLimit(2))
  const decisions = [0, 1, 2, 3].map(() => arrive().decision)
  assert.deepEqual(decisions, ['start', 'start', 'wait', 'wait'])
  assert.equal(gate.inflight, 2)
  assert.equal(gate.queued, 2)
  release()
  assert.deepEqual(world.started, [0, 1], 'no request starts while another one is being released')
  endTurn()
  assert.deepEqual(world.started, [0, 1, 2])
})

test('a request that finds the limit gone when it reports that it waits starts at the end of the turn', () => {
  const limiter = {
    ...fixedLimit(1),
    limit: 1,
    limitReached: () => {
      limiter.limit = 2
    },
  }
  const { world, arrive, endTurn } = gateOn(limiter)
  assert.deepEqual([arrive().decision, arrive().decision], ['start', 'wait'])
  assert.equal(world.turnEnds, 1)
  endTurn()
  assert.deepEqual(world.started, [0, 1])
})

test('a burst after an overload is not shed if the service had been idle in between', () => {
  const shedOfBurst = (pauseMs: number): number => {
    const { gate, world, arrive, release, endTurn, pass } = gateOn(fixedLimit(1))
    const serve = (): void => {
      pass(10)
      release()
      endTurn()
    }
    arrive()
    for (let i = 0; i < 600; i++) {
      arrive()
      arrive()
      serve()
    }
    assert.equal(gate.standing, true, 'twice as many as it can serve')
    while (gate.inflight > 0) serve()
    pass(pauseMs)
    const before = world.shed.length
    const refused = Array.from({ length: 50 }, () => arrive()).filter(
      ({ decision }) => !['start', 'wait'].includes(decision),
    )
    while (gate.inflight > 0) serve()
    return refused.length + world.shed.length - before
  }
  assert.equal(shedOfBurst(210), 0)
  assert.ok(shedOfBurst(100) > 20, 'which may be the same overload')
})

test('handlers that do not yield stop starting once the turn has spent its budget', () => {
  const { gate, world } = gateOn(fixedLimit(1000))
  const decisions: string[] = []
  for (let id = 0; id < 20; id++) {
    const decision = gate.offer(entryOf(id), world.now)
    decisions.push(decision)
    if (decision !== 'start') continue
    world.now += 3 // burns 3 ms and ends
    gate.release(world.now, 3, entryOf(id))
  }
  const started = decisions.filter(decision => decision === 'start').length
  assert.equal(started, Math.ceil(GATE_TUNING.turnBudgetMs / 3))
  assert.equal(gate.queued, 20 - started)
  assert.ok(world.turnEnds > 0, 'it asked to be called at the end of the turn')
})

test('microtasks after a handler has returned count towards the budget of the same turn', () => {
  const { gate, world } = gateOn(fixedLimit(1000))
  const offered = Array.from({ length: 20 }, (_, id) => {
    const decision = gate.offer(entryOf(id), world.now)
    world.now += 3 // microtasks burn 3 ms before the next request is parsed
    return decision
  })
  assert.equal(offered.filter(decision => decision === 'start').length, Math.ceil(GATE_TUNING.turnBudgetMs / 3))
  world.turn++
  gate.withdraw({ ...entryOf(99), dequeued: true }, world.now)
  assert.equal(gate.queued, 16)
})

test('a burst that drains is served whole, in order of arrival', () => {
  const { gate, world, arrive, release, endTurn } = gateOn(fixedLimit(1))
  for (let i = 0; i < 40; i++) arrive() // all at the same time, as after a stall
  while (gate.inflight > 0) {
    world.now += 10
    release()
    endTurn()
  }
  assert.deepEqual(world.shed, [])
  assert.deepEqual(
    world.started,
    Array.from({ length: 40 }, (_, i) => i),
    'first come, first served',
  )
})

test('a standing queue serves the newest request and sheds stale ones, and recovers when it is empty', () => {
  const { gate, world, arrive, release, endTurn, pass } = gateOn(fixedLimit(1))
  // Ten times the capacity: one departure every 10 ms, ten arrivals.
  let onArrival = 0
  for (let step = 0; step < 200; step++) {
    for (let i = 0; i < 10; i++) {
      if (arrive().decision === 'standing') onArrival++
      pass(1)
    }
    release()
    endTurn()
  }
  assert.equal(gate.standing, true)
  assert.ok(onArrival + world.shed.length > 1500, `${onArrival} and ${world.shed.length} of 2000 shed`)
  assert.ok(onArrival > world.shed.length, 'most are shed on arrival')
  const newest = world.started.at(-1)!
  assert.ok(newest >= 1990, `the last one started is number ${newest} of 2000`)
  while (gate.inflight > 0) {
    pass(10)
    release()
    endTurn()
  }
  assert.equal(gate.queued, 0)
  assert.equal(gate.standing, false)
  assert.equal(arrive().decision, 'start')
})

test('a request is shed after the maximum wait, even if nothing else happens', () => {
  const { gate, world, arrive, pass } = gateOn(fixedLimit(1))
  arrive()
  arrive()
  pass(GATE_TUNING.maxWaitMs - 1)
  assert.equal(gate.queued, 1)
  pass(2 * GATE_TUNING.intervalMs)
  assert.equal(gate.queued, 0)
  assert.deepEqual(world.shed, [[1, 'late']])
})

/** One permit, in use, and `waiting` requests. The test sets whether the service makes progress. */
function occupied(waiting: number) {
  const service = { isProgressing: true }
  const door = gateOn({ ...fixedLimit(1), isProgressing: () => service.isProgressing })
  for (let i = 0; i < 1 + waiting; i++) door.arrive()
  return { ...door, service }
}

test('up to 64 requests may wait beyond the maximum while the service makes progress, but not after', () => {
  const { gate, world, pass, service } = occupied(GATE_TUNING.few)
  pass(100 * GATE_TUNING.maxWaitMs)
  assert.equal(gate.queued, GATE_TUNING.few)
  service.isProgressing = false
  pass(2 * GATE_TUNING.intervalMs)
  assert.equal(gate.queued, 0)
  assert.deepEqual(new Set(world.shed.map(([, reason]) => reason)), new Set(['late']))
})

test('if more than 64 requests wait, the oldest are shed after the maximum wait', () => {
  const { world, pass } = occupied(GATE_TUNING.few + 3)
  pass(2 * GATE_TUNING.maxWaitMs)
  assert.deepEqual(
    world.shed,
    [1, 2, 3].map(id => [id, 'late']),
  )
})

test('once the oldest request has waited beyond the maximum, newer ones start first', () => {
  const { world, pass, arrive, release, endTurn } = occupied(1)
  pass(2 * GATE_TUNING.maxWaitMs)
  arrive()
  for (let i = 0; i < 2; i++) {
    release()
    endTurn()
  }
  assert.deepEqual(world.started, [0, 2, 1])
})

test('64 waiting requests of a slow service are all served, because their queue drains', () => {
  const { gate, world, release, endTurn, pass } = occupied(GATE_TUNING.few)
  for (let i = 0; i < GATE_TUNING.few; i++) {
    pass(200)
    release()
    endTurn()
    if (i > 0) assert.equal(gate.standing, false, `after ${i}`)
  }
  assert.equal(world.started.length, 1 + GATE_TUNING.few)
  assert.deepEqual(world.shed, [])
})

test('waiting requests are shed once 64 newer ones have overtaken them', () => {
  const waiting = GATE_TUNING.few / 4
  const { world, arrive, release, endTurn, pass } = occupied(waiting)
  pass(2 * GATE_TUNING.maxWaitMs)
  for (let i = 0; i < GATE_TUNING.few; i++) {
    assert.deepEqual(world.shed, [])
    arrive()
    release()
    endTurn()
    pass(50)
  }
  pass(GATE_TUNING.intervalMs)
  assert.deepEqual(new Set(world.shed.map(([id]) => id)), new Set(Array.from({ length: waiting }, (_, i) => i + 1)))
})

test('if more than 64 requests wait, the oldest starts first, even after the maximum wait', () => {
  const queue = new StandingQueue<Entry>(fixedLimit(1), { shed: () => undefined })
  for (let id = 0; id < 2 * GATE_TUNING.few; id++) queue.push(entryOf(id), 0)
  assert.equal(queue.next(GATE_TUNING.maxWaitMs)?.id, 0)
})

test('a request that leaves while waiting is neither started nor shed', () => {
  const { gate, world, arrive, release, endTurn } = gateOn(fixedLimit(1))
  arrive()
  const leaving = arrive().entry
  arrive()
  assert.equal(gate.withdraw(leaving, world.now), true)
  assert.equal(gate.withdraw(leaving, world.now), false)
  release()
  endTurn()
  assert.deepEqual(world.started, [0, 2])
  assert.deepEqual(world.shed, [])
})

test('a full queue refuses the newest request', () => {
  const { gate, world, arrive } = gateOn(fixedLimit(1))
  arrive()
  for (let i = 0; i < GATE_TUNING.maxQueued; i++) assert.equal(arrive().decision, 'wait')
  assert.equal(arrive().decision, 'full', 'in order of arrival the newest has the longest wait ahead')
  assert.equal(gate.queued, GATE_TUNING.maxQueued)
  assert.deepEqual(world.shed, [])
})

test('closing sheds all waiting and all new requests', () => {
  const { gate, world, arrive } = gateOn(fixedLimit(1))
  arrive()
  arrive()
  gate.close()
  assert.deepEqual(world.shed, [[1, 'closing']])
  assert.equal(arrive().decision, 'closing')
})

test('property: every request has exactly one end, and the limit holds, under any sequence of events', () => {
  const event = fc.oneof(
    { weight: 6, arbitrary: fc.constant('arrive' as const) },
    { weight: 3, arbitrary: fc.constant('release' as const) },
    { weight: 4, arbitrary: fc.constant('turn' as const) },
    { weight: 1, arbitrary: fc.constant('abandon' as const) },
    { weight: 3, arbitrary: fc.integer({ min: 1, max: 300 }) },
  )
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 5 }), fc.array(event, { maxLength: 400 }), (limit, events) => {
      const { gate, world, arrive, release, endTurn, pass } = gateOn(fixedLimit(limit))
      const waiting: Entry[] = []
      let arrived = 0
      let shedOnArrival = 0
      let abandoned = 0
      for (const event of events) {
        if (event === 'arrive') {
          const { entry, decision } = arrive()
          arrived++
          if (decision === 'wait') waiting.push(entry)
          else if (decision !== 'start') shedOnArrival++
        } else if (event === 'release') {
          if (gate.inflight > 0) release()
        } else if (event === 'turn') endTurn()
        else if (event === 'abandon') {
          const entry = waiting.shift()
          if (entry !== undefined && gate.withdraw(entry, world.now)) abandoned++
        } else pass(event)
        assert.ok(gate.inflight <= limit)
        assert.ok(gate.queued >= 0)
        assert.equal(arrived, world.started.length + world.shed.length + shedOnArrival + abandoned + gate.queued)
      }
    }),
  )
})

test('levels: of the waiting requests, one of the best class always starts first', () => {
  const step = fc.record({ level: fc.integer({ min: 0, max: LEVELS - 1 }), after: fc.integer({ min: 0, max: 30 }) })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 300 }), fc.integer({ min: 1, max: 4 }), (steps, limit) => {
      const { gate, world, arrive, release, endTurn, pass } = gateOn(fixedLimit(limit), true)
      const waiting = new Map<number, number>()
      const started = (): void => {
        for (const id of world.started.splice(0)) {
          const which = waiting.get(id)
          if (which === undefined) continue
          waiting.delete(id)
          const best = Math.min(...waiting.values())
          assert.ok(which <= best, `class ${which} was started while class ${best} waited`)
        }
        for (const [id] of world.shed.splice(0)) waiting.delete(id)
      }
      for (const { level, after } of steps) {
        const { entry, decision } = arrive(level)
        if (decision === 'wait') waiting.set(entry.id, classOf(level))
        started()
        pass(after)
        started()
        if (after % 3 === 0 && gate.inflight > 0) {
          release()
          endTurn()
          started()
        }
        assert.equal(gate.queued, waiting.size)
      }
    }),
  )
})

test('levels: a full queue makes room for a better class and refuses a worse one', () => {
  const { gate, world, arrive } = gateOn(fixedLimit(1), true)
  const [good, middle, bad] = [levelOf('critical_plus'), levelOf('critical'), levelOf('sheddable')]
  arrive(middle)
  const first = arrive(middle).entry
  for (let i = 1; i < GATE_TUNING.maxQueued; i++) arrive(middle)
  assert.equal(arrive(bad).decision, 'full')
  assert.deepEqual(world.shed, [])
  assert.equal(arrive(good).decision, 'wait')
  assert.deepEqual(world.shed, [[first.id, 'full']])
  assert.equal(gate.queued, GATE_TUNING.maxQueued)
})

test('next to other work of the process, requests that do not stay in service may take as long as that work', () => {
  for (const [stays, expected] of [
    [false, 1 + 30],
    [true, 1 + 1],
  ] as const) {
    const { gate, world, arrive, release } = gateOn(fixedLimit(1000))
    const start = world.started.push.bind(world.started)
    /** Each handler takes 10 ms of the loop. */
    world.started.push = (...ids) => {
      world.now += GATE_TUNING.turnBudgetMs
      return start(...ids)
    }
    for (let i = 0; i < 100; i++) arrive()
    if (!stays) release()
    world.now += 300
    gate.turnEnded(world.now)
    assert.equal(world.started.length, expected)
  }
})

test('levels are read only if a request cannot start at once', () => {
  let asked = 0
  const gate = new Gate<Entry>(fixedLimit(2), {
    now: () => 0,
    turn: () => 0,
    start: () => {},
    shed: () => {},
    wakeAtTurnEnd: () => {},
    wakeAfter: () => {},
    level: () => {
      asked++
      return Number.NaN // counts as the default
    },
  })
  const offer = (id: number): string => gate.offer(entryOf(id), 0)
  assert.deepEqual([offer(0), offer(1)], ['start', 'start'])
  assert.equal(asked, 0)
  assert.equal(offer(2), 'wait')
  assert.equal(asked, 1)
})

test('property: refuses() returns the reason with which offer() would shed the request', () => {
  const event = fc.oneof(
    { weight: 8, arbitrary: fc.constant('arrive' as const) },
    { weight: 2, arbitrary: fc.constant('release' as const) },
    { weight: 3, arbitrary: fc.integer({ min: 1, max: 40 }) },
  )
  let refused = 0
  fc.assert(
    fc.property(fc.array(event, { minLength: 100, maxLength: 600, size: 'max' }), events => {
      // Two gates see the same events. Only one is queried with refuses() first.
      const asked = gateOn(fixedLimit(2))
      const offered = gateOn(fixedLimit(2))
      for (const event of events) {
        if (event === 'arrive') {
          const reason = asked.gate.refuses(asked.world.now)
          const { decision } = offered.arrive()
          if (reason !== undefined) refused++
          assert.equal(reason ?? asked.arrive().decision, decision)
        } else {
          for (const { gate, release, endTurn, pass } of [asked, offered]) {
            if (event !== 'release') pass(event)
            else if (gate.inflight > 0) {
              release()
              endTurn()
            }
          }
        }
        assert.equal(asked.gate.queued, offered.gate.queued)
      }
    }),
  )
  assert.ok(refused > 0, 'the property was never put to the test')
})

test('a dropped permit is free again, and the limiter counts its request as dropped, not as completed', () => {
  const told: string[] = []
  const limiter = {
    ...fixedLimit(1),
    completed: () => told.push('completed'),
    dropped: () => told.push('dropped'),
  }
  const { gate, world, arrive, endTurn } = gateOn(limiter)
  arrive()
  const waiting = arrive().entry
  gate.drop(world.now, 500, entryOf(0))
  endTurn()
  assert.deepEqual(world.started, [0, waiting.id])
  gate.release(world.now, 10, waiting)
  assert.deepEqual(told, ['dropped', 'completed'])
  assert.equal(gate.inflight, 0)
})

test('the limiter gets back the ticket of each request that leaves service in any way', () => {
  let ticket: Ticket | undefined
  let admitted = 0
  const left: (number | undefined)[] = []
  const note = (_nowMs: number, _serviceMs: number, ticket?: Ticket): void => void left.push(ticket?.startedAt)
  const { gate, world, arrive, endTurn } = gateOn({
    ...fixedLimit(4),
    get ticket() {
      return ticket
    },
    admitted: () => {
      ticket = { startedAt: ++admitted, tookMs: Number.NaN }
    },
    completed: note,
    dropped: note,
  })
  const entries = Array.from({ length: 5 }, () => arrive().entry)
  gate.release(world.now, 1, entries[2]!)
  endTurn()
  gate.drop(world.now, 1, entries[0]!)
  gate.releaseOrphan(world.now, 1, entries[3]!)
  gate.runWithoutPermit(world.now, 1, entries[4]!)
  gate.release(world.now, 1, entries[1]!)
  assert.deepEqual(left, [3, 1, 4, 5, 2])
  assert.equal(gate.inflight, 0)
})

test('an orphaned request counts as completed once its handler has ended', () => {
  const told: string[] = []
  const limiter = {
    ...fixedLimit(1),
    completed: (nowMs: number, serviceMs: number) => told.push(`completed ${nowMs} ${serviceMs}`),
    dropped: () => told.push('dropped'),
  }
  const { gate, world, arrive, endTurn } = gateOn(limiter)
  arrive()
  const waiting = arrive().entry
  world.now = 40
  gate.releaseOrphan(world.now, 30, entryOf(0))
  endTurn()
  assert.deepEqual(world.started, [0, waiting.id])
  assert.deepEqual(told, ['completed 40 30'])
})

test('a fixed limit counts every request, and a learned limit reports how many it does not count', () => {
  const set = gateOn(fixedLimit(3)).gate
  assert.deepEqual([set.uncounted, set.limit, set.countedLimit, set.limitReason], [0, 3, 3, 'set'])
  const learned = gateOn({ ...fixedLimit(10), uncounted: 4, reason: 'contention' }).gate
  assert.deepEqual([learned.uncounted, learned.limit, learned.countedLimit], [4, 10, 6])
  assert.equal(learned.limitReason, 'contention')
})

test('a request that cannot start in time is shed at once, on arrival or while it waits', () => {
  const { world, come, release, endTurn, pass } = gateOn(fixedLimit(1))
  world.now = 1000
  assert.equal(come({ mustStartBy: 999 }).decision, 'deadline', 'there is room, but it would be too late')
  assert.equal(come({ mustStartBy: 1000 }).decision, 'start')
  const patient = come({}).entry
  const hurried = [come({ mustStartBy: 1050 }), come({ mustStartBy: 1020 })].map(({ entry }) => entry)
  pass(30)
  assert.deepEqual(world.shed, [[hurried[1]!.id, 'deadline']])
  pass(30)
  assert.deepEqual(world.shed.at(-1), [hurried[0]!.id, 'deadline'])
  release()
  endTurn()
  assert.equal(world.started.at(-1), patient.id)
})

test('a request whose expected wait exceeds its deadline is shed on arrival', () => {
  const { gate, world, come, release, endTurn, pass } = gateOn(fixedLimit(1))
  come({})
  for (let i = 0; i < 80; i++) come({})
  // One leaves every 10 ms, so 40 waiting requests need 400 ms. The pace is sure after 300 ms.
  for (let i = 0; i < 40; i++) {
    pass(10)
    release()
    endTurn()
  }
  assert.equal(gate.standing, false)
  const waiting = gate.queued
  assert.equal(come({ mustStartBy: world.now + 5 * waiting }).decision, 'deadline')
  assert.equal(come({ mustStartBy: world.now + 15 * waiting }).decision, 'wait')
})

test('resumed requests get every second permit, in order, and are shed after the maximum wait', () => {
  const { gate, world, come, release, endTurn, pass } = gateOn(fixedLimit(1))
  come({})
  const fresh = [come({}), come({})].map(({ entry }) => entry.id)
  const again = [come({ resumesUpload: true }), come({ resumesUpload: true })].map(({ entry }) => entry.id)
  assert.equal(gate.queued, 4)
  for (let i = 0; i < 4; i++) {
    pass(1)
    release()
    endTurn()
  }
  const inTurn = world.started.slice(1)
  assert.deepEqual(
    inTurn.filter(id => fresh.includes(id)),
    fresh,
  )
  assert.deepEqual(
    inTurn.filter(id => again.includes(id)),
    again,
  )
  assert.notEqual(fresh.includes(inTurn[0]!), fresh.includes(inTurn[1]!), 'in turns')
  const late = come({ resumesUpload: true }).entry
  const gone = come({ resumesUpload: true }).entry
  assert.equal(gate.withdraw(gone, world.now), true)
  pass(GATE_TUNING.maxWaitMs + 10)
  assert.deepEqual(world.shed, [[late.id, 'late']])
  assert.equal(gate.queued, 0)
})

test('a patient gate sheds no waiting request, and starts them in order of arrival after hours', () => {
  const { gate, world, arrive, release, endTurn, pass } = gateOn(fixedLimit(1), true, PATIENT_TUNING)
  arrive()
  for (let i = 0; i < 20; i++) arrive()
  const hour = 3_600_000
  for (let i = 0; i < 10; i++) {
    pass(hour)
    for (let more = 0; more < 3; more++) arrive()
    release()
    endTurn()
  }
  assert.equal(gate.standing, false)
  assert.deepEqual(world.shed, [])
  assert.deepEqual(world.started, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
  let waiting = gate.queued
  while (arrive().decision === 'wait') waiting++
  assert.equal(waiting, PATIENT_TUNING.maxQueued)
})

test('a held gate starts no request; after resume() the waiting ones start in order', () => {
  const { gate, world, arrive, endTurn } = gateOn(fixedLimit(10))
  gate.hold()
  assert.deepEqual([arrive().decision, arrive().decision], ['wait', 'wait'])
  endTurn()
  assert.deepEqual(world.started, [])
  const asked = world.turnEnds
  gate.resume()
  assert.equal(world.turnEnds, asked + 1)
  endTurn()
  assert.deepEqual(world.started, [0, 1])
  assert.equal(arrive().decision, 'start')
})

interface FullGate {
  readonly quickMs?: number
  readonly levels?: boolean
  readonly kinds?: boolean
}

/** A gate with a learned limit of 10, all in service, and a loop that is busy or has room. Work takes `quickMs`. */
function fullGate(loopHasRoom: boolean | undefined, { levels = false, ...more }: FullGate = {}) {
  const limiter: Limiter = { ...fixedLimit(10), known: true, ...(loopHasRoom === undefined ? {} : { loopHasRoom }) }
  const gate = gateOn(limiter, levels, GATE_TUNING, more)
  for (let i = 0; i < 10; i++) gate.gate.enter(0)
  return gate
}

/** Sends `count` requests, one every `everyMs`. Returns how many started at once. */
function passed({ come, gate, world }: ReturnType<typeof gateOn>, count: number, everyMs: number, how = {}): number {
  let passed = 0
  for (let i = 0; i < count; i++) {
    world.now += everyMs
    world.turn++
    const { entry, decision } = come(how)
    if (decision === 'start') {
      passed++
      gate.release(world.now, 0, entry)
    } else gate.withdraw(entry, world.now)
  }
  return passed
}

/** For this many milliseconds, a heavy request arrives every 10 ms, and one leaves every 100 ms. */
function overload(full: ReturnType<typeof gateOn>, ms: number): void {
  for (const until = full.world.now + ms; full.world.now < until; ) {
    full.come({ isQuick: false, kindIs: 1 })
    full.world.turn++
    full.pass(10)
    if (full.world.now % 100 === 0) full.gate.release(full.world.now, 20, { ...entryOf(0), kindIs: 1 })
  }
  assert.ok(full.gate.standing)
}

test('quick requests start above a full limit while the loop has room, and other requests do not', () => {
  assert.equal(passed(fullGate(true, { quickMs: 5 }), 1000, 0.1), 1000)
  assert.equal(passed(fullGate(true), 1000, 0.1), 0)
})

test('on a busy loop quick requests above the limit get a fifth of the time, and the rest wait', () => {
  // Each takes 0.9 ms, plus 0.1 ms for Node. The first 20 ms are a burst.
  assert.equal(passed(fullGate(false, { quickMs: 0.9 }), 1000, 5), 1000)
  const all = passed(fullGate(false, { quickMs: 0.9 }), 4000, 1)
  assert.ok(all >= 800 && all <= 825, `${all} in four seconds`)
  assert.equal(passed(fullGate(false), 1000, 5), 0)
})

test('quick requests whose mean time rose to 500 ms still start about ten times a second', () => {
  const all = passed(fullGate(false, { quickMs: 500 }), 200, 5)
  assert.ok(all >= 8 && all <= 11, `${all} in a second`)
})

test('quick requests wait in a turn that has spent its budget, and keep their own share of time', () => {
  const full = fullGate(false, { quickMs: 0.9 })
  // The first request of a turn starts.
  assert.equal(full.come({}).decision, 'start')
  full.world.now = 15
  for (let i = 0; i < 30; i++) assert.equal(full.come({}).decision, 'wait')
  full.world.turn++
  const more = Array.from({ length: 9 }, () => full.come({}).decision)
  assert.deepEqual(more, new Array(9).fill('start'))
})

test('under overload quick requests start only within the fair share of their kind, and never with levels', () => {
  const full = fullGate(false, { quickMs: 0.1, kinds: true })
  overload(full, 3000)
  const [seldom, often] = [2, 3]
  let [seldomPassed, oftenPassed] = [0, 0]
  for (let i = 0; i < 100; i++) {
    // The shares are recomputed every 200 ms.
    if (i === 50) [seldomPassed, oftenPassed] = [0, 0]
    overload(full, 20)
    seldomPassed += passed(full, 1, 0, { kindIs: seldom })
    oftenPassed += passed(full, 400, 0, { kindIs: often })
  }
  assert.ok(seldomPassed >= 45, `${seldomPassed} of 50`)
  assert.ok(oftenPassed < 0.02 * 50 * 400, `${oftenPassed} of 20,000`)
  const levels = fullGate(false, { quickMs: 0.1, levels: true })
  overload(levels, 3000)
  assert.equal(passed(levels, 50, 20), 0)
})

test('the departure of a quick request admitted above the limit does not shorten the expected wait of others', () => {
  const full = fullGate(false, { quickMs: 0.1 })
  const { come, gate, world } = full
  for (let i = 0; i < 5; i++) come({ isQuick: false })
  for (let ms = 1; ms <= 3000; ms++) {
    world.now++
    world.turn++
    const { entry, decision } = come({})
    assert.equal(decision, 'start')
    gate.release(world.now, 0, entry)
    if (ms % 20 > 0) continue
    gate.release(world.now, 200, entryOf(0))
    full.endTurn()
    come({ isQuick: false })
  }
  // Five wait, and one leaves every 20 ms.
  const { decision } = come({ isQuick: false, mustStartBy: world.now + 60 })
  assert.equal(decision, 'deadline')
})

test('no quick request starts above a fixed limit, or at a held gate', () => {
  assert.equal(passed(fullGate(undefined, { quickMs: 0.1 }), 100, 5), 0)
  const held = fullGate(true, { quickMs: 0.1 })
  held.gate.hold()
  assert.equal(passed(held, 100, 5), 0)
})

test('above a limit of 10, at most 10 quick requests start', () => {
  const { come } = fullGate(false, { quickMs: 0.1 })
  assert.equal(Array.from({ length: 40 }, () => come({}).decision).filter(decision => decision === 'start').length, 10)
})
