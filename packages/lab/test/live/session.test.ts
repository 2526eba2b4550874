/** The messages to the page, from the counts of the generator. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { figuresOf, stateOf, windowOf } from '../../src/live/figures.ts'
import type { Tick } from '../../src/live/generator-process.ts'
import { rowsOf } from '../../src/live/measured.ts'
import { Session, stopsFor } from '../../src/live/session.ts'
import { SideCounter } from '../../src/live/side-counter.ts'
import type { LoadSecond } from '../../src/load/plan.ts'
import { second as loadSecond, outcome } from '../melt/fixture.ts'

const CAPACITY = 100
const stops = stopsFor(CAPACITY)

/** A side that answers `good` of the due requests, each in `ms`, including `ownMs` of delay by the generator. */
function counts(due: number, good: number, { shed = 0, ms = 10, ownMs = 0 } = {}) {
  const counter = new SideCounter(1000)
  for (let each = 0; each < due; each++) {
    counter.due()
    counter.ended(
      each < good ? ms : 2000,
      each < good ? 200 : each < good + shed ? 503 : 'response-timeout',
      each < good ? ownMs : 0,
    )
  }
  return counter.take()
}

function tickAt(atMs: number, load: number, lengthMs = 100): Tick {
  const due = Math.round((load * CAPACITY * lengthMs) / 1000)
  return {
    atMs,
    lengthMs,
    rate: load * CAPACITY,
    sides: [counts(due, load > 1 ? 0 : due), counts(due, Math.min(due, lengthMs / 10), { shed: due })],
  }
}

const session = () => new Session(CAPACITY, stops, () => false)

test('rates cover the last two seconds, whatever the length of the ticks', () => {
  const ticks = Array.from({ length: 50 }, (_, at) => ({ lengthMs: 100, at }))
  assert.deepEqual(
    windowOf(ticks).map(({ at }) => at),
    Array.from({ length: 20 }, (_, at) => at + 30),
  )
  assert.equal(windowOf([...ticks, { lengthMs: 3000, at: 50 }]).length, 1)
  const figures = figuresOf(
    [
      { lengthMs: 100, counts: counts(20, 5, { shed: 10 }) },
      { lengthMs: 400, counts: counts(80, 20, { shed: 40 }) },
    ],
    CAPACITY,
  )
  assert.deepEqual([figures.due, figures.good, figures.late, figures.refused, figures.lost], [200, 50, 0, 100, 50])
})

test("p99 covers answered requests only, and the generator's share is shown if it is large", () => {
  const of = (counted: ReturnType<typeof counts>) => figuresOf([{ lengthMs: 100, counts: counted }], CAPACITY)
  assert.deepEqual([of(counts(10, 0)).p99Ms, of(counts(10, 0)).ownMs], [null, null])
  const clean = of(counts(2000, 2000, { ms: 100, ownMs: 5 }))
  assert.ok(Math.abs(clean.p99Ms! - 100) < 1)
  assert.equal(clean.ownMs, null)
  const late = of(counts(2000, 2000, { ms: 100, ownMs: 50 }))
  assert.ok(Math.abs(late.ownMs! - 50) < 1)
})

test('the state of a side follows from the same rule as the verdict of the report', () => {
  const nothing = { due: 0, good: 0, late: 0, refused: 0, lost: 0 }
  const word = (more: Partial<typeof nothing>) => stateOf({ ...nothing, ...more }, CAPACITY)
  assert.equal(word({}), 'waits')
  assert.equal(word({ due: 100, good: 99 }), 'keeps-up')
  // 90 % of the load is answered in time: the report says that the side holds.
  assert.equal(word({ due: 50, good: 45, late: 5 }), 'keeps-up')
  assert.equal(word({ due: 1000, good: 95, refused: 900, lost: 5 }), 'full')
  assert.equal(word({ due: 1000, refused: 1000 }), 'melts')
  assert.equal(word({ due: 1000, good: 10, refused: 990 }), 'melts')
  assert.equal(word({ due: 100, good: 60, late: 40 }), 'strains')
  // The side serves 73 % of its capacity: the report says that it sags.
  assert.equal(word({ due: 2 * CAPACITY, good: 0.73 * CAPACITY, refused: 1.27 * CAPACITY }), 'strains')
  // The side serves its full capacity, although most requests are lost: the report says that it holds.
  assert.equal(word({ due: 400, good: 110, lost: 290 }), 'full')
  assert.equal(word({ due: 100, late: 100 }), 'melts')
  assert.equal(figuresOf([], CAPACITY, 'ended').state, 'ended')
})

test('seconds in which the load changed, and seconds without a tick, belong to no load', () => {
  const now = session()
  for (let at = 100; at <= 2500; at += 100) now.add(tickAt(at, 0.5))
  for (let at = 2600; at <= 4000; at += 100) now.add(tickAt(at, 10))
  // The generator stops for three seconds, during which the slider moves.
  now.add(tickAt(7100, 20, 3100))
  assert.deepEqual(now.loads, [0.5, 0.5, null, 10, null, null, null, 20])
})

test('the curve has one point per load held, and the size of messages stays bounded', () => {
  const now = session()
  now.set(0.5)
  let most = 0
  let curve: unknown
  for (let at = 100, hour = 3_600_000; at <= hour; at += 500) {
    const load = stops[Math.floor(at / 20_000) % stops.length]!
    const told = now.add(tickAt(at, load, 500))
    most = Math.max(most, JSON.stringify(told).length)
    curve = told.curve ?? curve
  }
  assert.equal((curve as unknown[]).length, stops.length)
  assert.ok(most < 3000, `${most} bytes`)
  assert.equal(now.loads.length, 3600)
  const everything = now.everything()!
  assert.equal(everything.points!.length, 120)
  assert.ok(JSON.stringify(everything).length < 12_000)
  // At 20x, the bare side answers nothing, and the protected side serves its capacity.
  assert.deepEqual(everything.curve!.at(-1), [20, [0, 100]])
})

/**
 * A side with a load for each second, which answers `goodOf` of it. Returns the curve of the page, the rows of the
 * report, and the state after each second.
 */
function course(loads: readonly number[], goodOf: (second: number, load: number) => number) {
  const now = session()
  const seconds: LoadSecond[] = []
  const states: string[] = []
  for (const [second, load] of loads.entries()) {
    const [due, good] = [load * CAPACITY, goodOf(second, load)]
    const side = counts(due, good)
    const told = now.add({ atMs: 1000 * second + 999, lengthMs: 1000, rate: due, sides: [side, side] })
    states.push(told.sides[0]!.state)
    seconds.push(loadSecond(second, { good, failed: due - good }))
  }
  const rows = rowsOf([{ arm: 'bare', outcome: outcome(seconds) }], now.loads, 1000, CAPACITY)
  return { curve: now.everything()!.curve!, rows: rows.filter(row => row.seconds >= 5), states, best: now.best }
}

test('the curve has a load once five seconds of it count, as the report judges it', () => {
  const held = (seconds: number) => course([0.5, ...Array<number>(seconds).fill(2)], () => 40).curve
  assert.deepEqual(held(7), [])
  // The first two seconds are skipped while the load settles, and the next five count. A second ends with the next
  // tick.
  assert.deepEqual(held(8), [[2, [40, 40]]])
})

test('the backlog of a higher load does not count against the next lower load, on the curve and in the report', () => {
  const loads = [...Array<number>(12).fill(20), ...Array<number>(24).fill(0.5)]
  // It answers nothing at 20x and for six seconds after it. Later it answers half of the load in every eighth second.
  const goodOf = (second: number, load: number) => (load > 1 || second < 18 ? 0 : second % 8 === 0 ? 25 : 50)
  const { curve, rows, states, best } = course(loads, goodOf)
  assert.deepEqual(
    curve.map(([load, [good]]) => [load, good]),
    rows.map(({ multiple, goodput }) => [multiple, Math.round(10 * goodput) / 10]),
  )
  assert.deepEqual(
    curve.map(([load]) => load),
    [0.5, 20],
  )
  assert.ok(best > 45, `${best}`)
  assert.equal(states[11], 'melts')
  assert.equal(states[15], 'recovers', 'its backlog is of 20x')
  assert.equal(states[30], 'keeps-up')
})

test('everything() is undefined before the first tick', () => assert.equal(session().everything(), undefined))
