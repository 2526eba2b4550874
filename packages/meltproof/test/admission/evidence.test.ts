/** The candidate limiter of sim/limiters/evidence: what its cohorts take for a queue, and what it does on a rested service. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Cohorts } from '../../sim/limiters/evidence/cohorts.ts'
import { evidence } from '../../sim/limiters/evidence/as-limiter.ts'
import { EVIDENCE_TUNING } from '../../sim/limiters/evidence/tuning.ts'
import { Random } from '../../sim/random.ts'
import { simulate } from '../../sim/service.ts'
import type { Step, Workload } from '../../sim/workload.ts'

interface Arrival {
  readonly atMs: number
  readonly tookMs: number
}

/** Whether the cohorts were sure at some time that these wait for each other. */
function everSure(arrivals: readonly Arrival[]): boolean {
  const cohorts = new Cohorts(EVIDENCE_TUNING)
  const leaving: { atMs: number; ticket: number; tookMs: number }[] = []
  const leaveUntil = (nowMs: number): boolean => {
    leaving.sort((one, other) => one.atMs - other.atMs)
    while (leaving.length > 0 && leaving[0]!.atMs <= nowMs) {
      const { atMs, ticket, tookMs } = leaving.shift()!
      cohorts.ended(ticket, tookMs)
      if (cohorts.contention(atMs)?.isSure) return true
    }
    return false
  }
  for (const { atMs, tookMs } of arrivals) {
    if (leaveUntil(atMs)) return true
    const ticket = cohorts.admitted(atMs, leaving.length + 1)
    leaving.push({ atMs: atMs + tookMs, ticket, tookMs })
  }
  return leaveUntil(Number.POSITIVE_INFINITY)
}

const poisson = (random: Random, perS: number, seconds: number, took: (atMs: number) => number): Arrival[] => {
  const arrivals: Arrival[] = []
  for (let atMs = 0; atMs < seconds * 1000; atMs += random.exponential(1000 / perS))
    arrivals.push({ atMs, tookMs: took(atMs) })
  return arrivals
}

/** What a pool makes of services that take so long. */
const pooled = (arrivals: readonly Arrival[], connections: number): Arrival[] => {
  const freeAt = new Array<number>(connections).fill(0)
  return arrivals.map(({ atMs, tookMs }) => {
    const at = freeAt.indexOf(Math.min(...freeAt))
    freeAt[at] = Math.max(atMs, freeAt[at]!) + tookMs
    return { atMs, tookMs: freeAt[at]! - atMs }
  })
}

const SEEDS = [1, 2, 3, 4, 5]

test('what merely waits is no queue, from a cold start', () => {
  for (const seed of SEEDS) {
    const random = new Random(seed)
    assert.equal(everSure(poisson(random, 100, 5, () => 500)), false, `all take 500 ms, seed ${seed}`)
    assert.equal(everSure(poisson(random, 100, 5, () => 5 + 400 * random.next())), false, `5 to 405 ms, seed ${seed}`)
    assert.equal(
      everSure(poisson(random, 200, 5, () => (random.next() < 0.1 ? 3000 : 5))),
      false,
      `one in ten takes 3 s, seed ${seed}`,
    )
  }
})

test('a mix that becomes slow at once is no queue', () => {
  for (const seed of SEEDS) {
    const random = new Random(seed)
    assert.equal(everSure(poisson(random, 200, 6, atMs => (atMs < 3000 ? 5 : 300))), false, `seed ${seed}`)
  }
})

test('a pool with more work than it can do is a queue, also where half of the requests pass it by', () => {
  for (const seed of SEEDS) {
    const random = new Random(seed)
    const work = poisson(random, 300, 3, () => 50)
    assert.equal(everSure(pooled(work, 5)), true, `seed ${seed}`)
    const hits = poisson(random, 300, 3, () => 2)
    const both = [...pooled(work, 5), ...hits].sort((one, other) => one.atMs - other.atMs)
    assert.equal(everSure(both), true, `with hits, seed ${seed}`)
  }
})

const run = (workload: Workload, seconds: number, seed: number) =>
  simulate(workload, { seconds, seed, limiter: evidence })

test('500 at once that wait 2.5 s: none is shed', () => {
  const arrivals = Array.from({ length: 500 }, () => ({ atMs: 100, kind: 0 }))
  const steps = (): Step[] => [{ cpu: 0.01 }, { wait: 2500 }]
  assert.equal(run({ rate: () => 0, arrivals, steps }, 5, 1).shed, 0)
})

test('a pool at three times its capacity keeps it', () => {
  for (const seed of SEEDS) {
    const { seconds } = run({ rate: () => 600, steps: () => [{ cpu: 0.1 }, { pool: 50 }, { cpu: 0.1 }] }, 20, seed)
    const good = seconds.slice(1, -1).reduce((sum, second) => sum + second.good, 0) / 18
    assert.ok(good >= 190, `seed ${seed}: ${good}/s of 200`)
  }
})
