/**
 * Features of a simulated service in addition to its load: several pools, statuses, uploads, cohorts, and which answers
 * are late.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { shareOfIdeal } from '../../sim/figures.ts'
import { FlushedCache } from '../../sim/flushed-cache.ts'
import { MIXED } from '../../sim/mixed.ts'
import { MIXED_HELD_OUT } from '../../sim/mixed-held-out.ts'
import { burns, onePath, paretoMean, pareto, refused, uniformly } from '../../sim/mixed-parts.ts'
import { Random } from '../../sim/random.ts'
import { type SimResult, simulate } from '../../sim/service.ts'
import type { Step, Workload } from '../../sim/workload.ts'

const run = (workload: Partial<Workload>, seconds = 10): SimResult =>
  simulate({ rate: () => 0, steps: () => [], ...workload }, { seconds, limiter: undefined, parseCostMs: 0 })
/** `clients` requests at once, 1 s after the start. */
const atOnce = (clients: number, steps: () => Step[], rest: Partial<Workload> = {}): SimResult =>
  run({ steps, cohorts: [{ atMs: 1000, clients, requests: 1 }], ...rest })

describe('named pools', () => {
  test('each pool has its own places', () => {
    const { latencies } = atOnce(8, () => [{ pool: 100, of: 'threads' }], { pools: { threads: 4, lock: 1 } })
    assert.deepEqual([...latencies], [100, 100, 100, 100, 200, 200, 200, 200])
    const locked = atOnce(3, () => [{ pool: 100, of: 'lock' }], { pools: { threads: 4, lock: 1 } })
    assert.deepEqual([...locked.latencies], [100, 200, 300])
  })

  test('a step in an unknown pool throws an error that names the pool', () => {
    assert.throws(() => atOnce(1, () => [{ pool: 1, of: 'thread' }]), /no pool is called thread/)
  })
})

describe('simulated responses', () => {
  test('a 401 counts as answered in time, but not as goodput', () => {
    const { good, inItsTime, late, offered, mostLeft } = atOnce(5, () => [{ cpu: 1 }, { status: 401 }])
    assert.deepEqual(
      { good, inItsTime, late, offered, mostLeft },
      { good: 0, inItsTime: 5, late: 0, offered: 5, mostLeft: 0 },
    )
  })

  test('a 503 is retried, a 400 is not', () => {
    const offered = (status: number): number => atOnce(50, () => [{ status }], { retries: 2 }).offered
    assert.equal(offered(503), 150)
    assert.equal(offered(400), 50)
  })
})

describe('late responses', () => {
  test('do not include requests that take long on their own', () => {
    for (const slow of [{ wait: 5000 }, { upload: 5000 }, { stream: 5000 }, { timer: 5000 }] as Step[]) {
      const { late, good, inItsTime } = atOnce(50, () => [slow])
      assert.deepEqual({ late, good, inItsTime }, { late: 0, good: 0, inItsTime: 50 })
    }
  })

  test('include a request of 2 s only after 3 s', () => {
    const { late, inItsTime } = atOnce(3, () => [{ pool: 900 }, { wait: 1100 }], { poolSize: 1 })
    // Answers after 2000, 2900 and 3800 ms.
    assert.deepEqual({ late, inItsTime }, { late: 1, inItsTime: 2 })
  })

  test('include unanswered requests, and clients that left after the promised time', () => {
    const endless = run({ steps: () => [{ pool: 1000 }], rate: () => 100, poolSize: 1 })
    assert.ok(endless.inflightAtEnd > 500)
    assert.equal(endless.late + endless.inItsTime, endless.offered)
    const patience = (patienceMs: number): SimResult =>
      run({ steps: () => [{ pool: 1000 }], rate: () => 100, poolSize: 1, patienceMs })
    assert.ok(patience(1500).late > 0.9 * patience(1500).offered)
    assert.equal(patience(500).late, 0)
  })
})

describe('the census of contention', () => {
  test('counts requests that wait for a connection, but none that holds one or waits without contention', () => {
    const pooled = atOnce(30, () => [{ cpu: 0.1 }, { pool: 100 }], { poolSize: 10 })
    assert.equal(pooled.mostInService, 30)
    assert.ok(pooled.mostContending >= 20 && pooled.mostContending <= 21, `${pooled.mostContending}`)
    const waiting = atOnce(30, () => [{ wait: 100 }])
    assert.equal(waiting.mostInService, 30)
    assert.ok(waiting.mostContending <= 1)
    assert.equal(waiting.mostLeft, 30)
  })

  test('counts requests that wait for the core', () => {
    const { mostContending } = atOnce(30, () => burns(50))
    assert.equal(mostContending, 30)
  })
})

test('each client of a cohort sends its next request after the response to the one before', () => {
  const cohorts = [{ atMs: 0, withinMs: 1000, clients: 10, requests: 3, kind: (n: number) => (n === 0 ? 0 : 1) }]
  const kinds = [
    { share: 1, steps: () => [{ cpu: 1 }] },
    { share: 0, steps: () => [{ wait: 2000 }] },
  ]
  const { offered, seconds } = run({ kinds, cohorts })
  assert.equal(offered, 30)
  // The first and second requests arrive in the first second, the third two seconds later.
  assert.equal(seconds[0]!.offered + seconds[1]!.offered, 20)
  assert.equal(seconds[2]!.offered + seconds[3]!.offered, 10)
})

test('a flushed cache has a key again once that key was filled', () => {
  const cache = new FlushedCache(3, 1000)
  cache.reset()
  assert.ok(cache.has(2, 999))
  assert.ok(!cache.has(2, 1000))
  cache.fill(2)
  assert.ok(cache.has(2, 1001))
  assert.ok(!cache.has(1, 1001))
})

test('operations on one path arrive at their rates, with one path and one route', () => {
  const workload = onePath(
    '/rpc',
    { perSecond: 300, steps: () => burns(0.1) },
    { perSecond: nowMs => (nowMs < 5000 ? 100 : 0), steps: () => refused(400) },
  )
  const { kinds, offered } = run(workload, 20)
  assert.equal(kinds[1]!.offered, 0)
  assert.ok(Math.abs(offered - 6500) < 300, `${offered}`)
  assert.deepEqual(
    new Set(workload.kinds!.map(({ path, route }) => `${path!(new Random(1), 0)} ${route}`)),
    new Set(['/rpc 0']),
  )
})

test('the mean of a bounded Pareto distribution is what its formula says', () => {
  const random = new Random(1)
  let sum = 0
  for (let i = 0; i < 200_000; i++) sum += pareto(random, 0.5, 300, 1.1)
  const mean = paretoMean(0.5, 300, 1.1)
  assert.ok(Math.abs(sum / 200_000 / mean - 1) < 0.05, `${sum / 200_000}, not ${mean}`)
})

test('uniform admission of hits and misses at 300/s each serves 200/s with ten places, all with a hundred', () => {
  const parts = [
    { rate: 300, ms: 0 },
    { rate: 300, ms: 100 },
  ]
  assert.equal(uniformly(10, parts), 200)
  assert.equal(uniformly(100, parts), 600)
})

test('forty mixes have distinct names, and those with enough capacity are all answered without admission', () => {
  const all = [...MIXED, ...MIXED_HELD_OUT]
  assert.equal(MIXED.length, 20)
  assert.equal(MIXED_HELD_OUT.length, 20)
  assert.equal(new Set(all.map(({ name }) => name)).size, 40)
  for (const each of all.filter(({ noShed }) => noShed)) {
    const result = simulate(each.workload, { seconds: each.seconds, limiter: undefined })
    const { late, inItsTime, inflightAtEnd, offered } = result
    // The last of a burst are late, by a second at most. Only requests that take 60 s by themselves are in service at
    // the end.
    const slow = late === 0 ? 0 : result.latencies.filter(ms => ms > 2000).length
    assert.deepEqual({ slow, missing: offered - late - inItsTime - inflightAtEnd }, { slow: 0, missing: 0 }, each.name)
  }
})

test('an oracle that sees contention reaches the ideal of a mix within 5 %, with none late', () => {
  const mix = MIXED.find(({ name }) => name.startsWith('hits of 2 ms'))!
  const door = (census: { contending: number }): boolean => census.contending < 16
  const result = simulate(mix.workload, { seconds: mix.seconds, limiter: undefined, door })
  const share = shareOfIdeal(mix, result)
  assert.ok(share > 0.95 && share < 1.05, `${share}`)
  assert.equal(result.late, 0)
})
