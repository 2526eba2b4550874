/** What is said of the waits of lookups, against a pool of which the truth is known. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { LookupWaits } from '../../src/signals/lookup-waits.ts'
import { SimulatedPool } from './simulated-pool.ts'

const ms = (min: number, max: number): fc.Arbitrary<number> => fc.double({ min, max, noNaN: true })
/** What a probe takes, ms. */
const PROBE_MS = 0.02

interface Told {
  readonly truthMs: number
  readonly toldMs: number
  readonly tookMs: number
}

/** The lookups of a history, each with what it waited and what is said of that. */
function history(
  threads: number,
  works: readonly (readonly [atMs: number, runMs: number])[],
  lookups: readonly (readonly [atMs: number, runMs: number])[],
): Told[] {
  const pool = new SimulatedPool(threads)
  const waits = new LookupWaits()
  const told: Told[] = []
  let isPausing = false
  const probe = (done: (atMs: number) => void): void =>
    pool.submit({ runMs: PROBE_MS, isLookup: false, started: () => undefined, done })
  const probeAgain = (): void => {
    if (isPausing || !waits.beginProbe(pool.nowMs)) return
    probe(atMs => {
      isPausing = true
      pool.at(atMs + waits.endProbe(atMs), () => {
        isPausing = false
        probeAgain()
      })
    })
  }
  for (const [atMs, runMs] of works) {
    pool.at(atMs, () => pool.submit({ runMs, isLookup: false, started: () => undefined, done: () => undefined }))
  }
  for (const [fromMs, runMs] of lookups) {
    pool.at(fromMs, () => {
      const lookup = waits.begin('peer.example', fromMs)
      probe(atMs => {
        waits.probed(lookup, atMs)
        probeAgain()
      })
      let startedAtMs = Number.NaN
      const started = (atMs: number): void => {
        startedAtMs = atMs
      }
      pool.submit({
        ...{ runMs, isLookup: true, started },
        done(atMs) {
          waits.end(lookup, atMs)
          const wait = waits.between('PEER.example', fromMs, atMs).findLast(each => each.fromMs === fromMs)
          const toldMs = wait === undefined ? 0 : wait.toMs - wait.fromMs
          told.push({ truthMs: startedAtMs - fromMs, toldMs, tookMs: atMs - fromMs })
        },
      })
    })
  }
  pool.run()
  assert.equal(told.length, lookups.length)
  return told
}

const work = fc.array(fc.tuple(ms(0, 300), ms(1, 400)), { maxLength: 40 })

test('property: the reported wait of a single lookup is right within 2.1 ms, with any pool and resolver', () => {
  fc.assert(
    fc.property(fc.integer({ min: 2, max: 8 }), work, ms(0, 500), ms(0.1, 2000), (threads, works, atMs, runMs) => {
      const [{ truthMs, toldMs }] = history(threads, works, [[atMs, runMs]]) as [Told]
      assert.ok(Math.abs(toldMs - truthMs) <= 2.1, `${toldMs} ms, in truth ${truthMs} ms`)
    }),
    { numRuns: 2000, endOnFailure: true },
  )
})

test('property: lookups behind a slow resolver in a free pool have not waited for a thread', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 2, max: 8 }),
      fc.uniqueArray(fc.tuple(ms(0, 100), ms(100, 2000)), { minLength: 1, maxLength: 30, selector: ([atMs]) => atMs }),
      (threads, lookups) => {
        // Those that wait for one another wait for the resolver.
        for (const { toldMs } of history(threads, [], lookups)) assert.equal(toldMs, 0)
      },
    ),
  )
})

/** More work than the pool gets done for a while, and lookups by many requests meanwhile. */
const starved = fc.record({
  threads: fc.constant(4),
  works: fc.array(fc.tuple(ms(0, 300), ms(20, 60)), { minLength: 60, maxLength: 120 }),
  lookups: fc.uniqueArray(ms(50, 250), { minLength: 3, maxLength: 12 }),
})

test('property: lookups in a pool full of other work have waited nearly all of their time', () => {
  fc.assert(
    fc.property(starved, fc.boolean(), ({ threads, works, lookups }, isKnown) => {
      // One that was alone, before: what the name takes is known.
      const before: (readonly [number, number])[] = isKnown ? [[-1000, 1]] : []
      const told = history(threads, works, [...before, ...lookups.map(atMs => [atMs, 1] as const)])
      for (const { truthMs, toldMs, tookMs } of told.slice(before.length)) {
        assert.ok(
          toldMs >= truthMs * 0.9 - 5 && toldMs <= tookMs,
          `${toldMs} ms of ${tookMs} ms, in truth ${truthMs} ms`,
        )
      }
    }),
    { numRuns: 300, endOnFailure: true },
  )
})

test('property: with a resolver known to be slow, its time does not count as waiting', () => {
  fc.assert(
    fc.property(starved, ms(300, 900), ({ threads, works, lookups }, runMs) => {
      const told = history(threads, works, [[-3000, runMs], ...lookups.map(atMs => [atMs, runMs] as const)])
      for (const { toldMs, tookMs } of told) assert.ok(toldMs <= tookMs - runMs + 5, `${toldMs} ms of ${tookMs} ms`)
    }),
    { numRuns: 300, endOnFailure: true },
  )
})

test('a lookup that ends before its probe has not been in the pool', () => {
  const waits = new LookupWaits()
  waits.end(waits.begin('cached.example', 0), 500)
  assert.deepEqual(waits.between('cached.example', 0, 1000), [])
})

test('a pending lookup has waited until now if its probe has not run, and other names have not waited', () => {
  const waits = new LookupWaits()
  const lookup = waits.begin('peer.example', 100)
  assert.deepEqual(waits.between('peer.example', 0, 400), [{ fromMs: 100, toMs: 400 }])
  assert.deepEqual(waits.between('other.example', 0, 400), [])
  waits.probed(lookup, 300)
  assert.deepEqual(waits.between('peer.example', 0, 400), [{ fromMs: 100, toMs: 300 }])
  waits.end(lookup, 700)
  assert.deepEqual(waits.between('peer.example', 0, 900), [{ fromMs: 100, toMs: 300 }])
  assert.deepEqual(waits.between('peer.example', 300, 900), [], 'before the time that is asked about')
})

test('at most 512 waits are remembered', () => {
  const waits = new LookupWaits()
  for (let i = 0; i < 5000; i++) {
    const lookup = waits.begin('peer.example', i * 10)
    waits.probed(lookup, i * 10 + 5)
    waits.end(lookup, i * 10 + 6)
  }
  assert.equal(waits.between('peer.example', 0, 1e9).length, 512)
})
