/** AllGuards joins the guards of a process, and combineProcesses() the figures of several processes. */
import assert from 'node:assert/strict'
import http from 'node:http'
import { test } from 'node:test'
import { AllGuards, combineProcesses } from '../../src/cluster/all-guards.ts'
import type { EventLoop } from '../../src/observe/event-loop.ts'
import { METRICS } from '../../src/observe/metrics.ts'
import type { GuardStats } from '../../src/server/guard.ts'
import { protect } from '../../src/server/protect.ts'

test('the counters of a server stay when it stops listening, and its gauges are dropped', () => {
  const [first, second] = [2, 3].map(admitted => {
    const guard = protect(http.createServer())
    const { stats } = guard
    return { ...guard, stats: () => ({ ...stats(), admitted, queued: 1, shed: { ...stats().shed, full: 10 } }) }
  })
  let listening = [first!, second!]
  const all = new AllGuards(() => listening)
  const figures = (): number[] => {
    const { admitted, queued, shed } = all.stats()
    return [admitted, queued, shed.full]
  }
  assert.deepEqual(figures(), [5, 2, 20])
  listening = [second!]
  for (let i = 0; i < 2; i++) assert.deepEqual(figures(), [5, 1, 20])
  listening = []
  assert.deepEqual(figures(), [5, 1, 20])
})

test('no counter of the guards falls when a server stops listening', () => {
  const [first, second] = [0, 1].map(() => {
    const guard = protect(http.createServer())
    const stats = sevens(guard.stats()) as GuardStats
    return { ...guard, stats: () => stats }
  })
  let listening = [first!, second!]
  const all = new AllGuards(() => listening)
  const loop = { time: () => ({ active: 0, idle: 0 }) } as EventLoop
  const counters = (): Record<string, number[]> => {
    const found: Record<string, number[]> = {}
    for (const { kind, prometheus, read } of METRICS) {
      if (kind !== 'counter' || read === undefined) continue
      let ofGuard = false
      const asked = <T>(figures: T): T => {
        ofGuard = true
        return figures
      }
      const readings = read({ stats: () => asked(all.stats()), sheds: () => asked(all.sheds()) }, loop)
      if (ofGuard) found[prometheus] = readings.map(([, value]) => value)
    }
    return found
  }
  const before = counters()
  const { shed } = first!.stats()
  assert.deepEqual(before['meltproof_admitted_total'], [14])
  assert.equal(before['meltproof_shed_total']?.length, Object.keys(shed).length)
  listening = [second!]
  assert.deepEqual(counters(), before)
  assert.equal(all.stats().inflight, 7, 'a gauge falls')
})

/** Any figure may become a counter, so each is 7. */
function sevens(value: unknown): unknown {
  if (typeof value === 'number') return 7
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, sevens(each)]))
}

test('a server that listens again counts once', () => {
  let more = 0
  const [first, second] = [2, 3].map(admitted => {
    const guard = protect(http.createServer())
    const { stats } = guard
    return {
      ...guard,
      stats: () => ({ ...stats(), admitted: admitted + more, shed: { ...stats().shed, full: 10 + more } }),
    }
  })
  let listening = [first!, second!]
  const all = new AllGuards(() => listening)
  const figures = (): number[] => [all.stats().admitted, all.stats().shed.full, all.sheds()[0]!.shed.full]
  assert.deepEqual(figures(), [5, 20, 20])
  for (let i = 1; i <= 3; i++) {
    listening = [second!]
    assert.deepEqual(figures(), [5 + 2 * more, 20 + 2 * more, 20 + 2 * more])
    listening = [first!, second!]
    more++
    assert.deepEqual(figures(), [5 + 2 * more, 20 + 2 * more, 20 + 2 * more])
  }
})

test('sheds of a dry run are counted apart, even after its server stops listening', () => {
  const [dry, real, other] = [true, false, false].map((dryRun, i) => {
    const guard = protect(http.createServer(), { dryRun })
    const { stats } = guard
    return { ...guard, stats: () => ({ ...stats(), shed: { ...stats().shed, full: 10 ** i } }) }
  })
  let listening = [dry!, real!]
  const all = new AllGuards(() => listening)
  const full = () =>
    METRICS.find(({ prometheus }) => prometheus === 'meltproof_shed_total')!.read!(all, undefined as never)
      .filter(([{ reason }]) => reason === 'full')
      .map(([{ dryRun }, value]) => [dryRun, value])
  assert.deepEqual(full(), [
    ['false', 10],
    ['true', 1],
  ])
  assert.equal(all.stats().dryRun, true, 'what is true of one is true')
  listening = [other!]
  assert.deepEqual(full(), [
    ['false', 110],
    ['true', 1],
  ])
  assert.deepEqual([all.stats().dryRun, all.stats().shed.full], [false, 111])
})

/** AT_REST is idle and has not found its limit. BUSY sheds and drains. */
const shedOf = (full: number): GuardStats['shed'] => ({ ...protect(http.createServer()).stats().shed, full })
const AT_REST: GuardStats = {
  ...{ inflight: 1, stragglers: 0, abandoned: 0, queued: 0, limit: 16, limitKnown: false, open: 2, lanes: 1 },
  ...{ admitted: 10, exempt: 1, left: 0, shed: shedOf(0), draining: false, dryRun: false },
  ...{ pressure: 0, utilisation: 0.25, demand: 1, load: 0.25 },
}
const BUSY: GuardStats = {
  ...{ inflight: 8, stragglers: 2, abandoned: 3, queued: 40, limit: 8, limitKnown: true, open: 53, lanes: 1 },
  ...{ admitted: 500, exempt: 4, left: 7, shed: shedOf(900), draining: true, dryRun: true },
  ...{ pressure: 0.9, utilisation: 1, demand: 3, load: 3 },
}
const SUMS = {
  ...{ inflight: 9, stragglers: 2, abandoned: 3, queued: 40, limit: 24, open: 55, lanes: 2 },
  ...{ admitted: 510, exempt: 5, left: 7, shed: shedOf(900) },
}
const TRUE_OF_ONE = { limitKnown: true, draining: true, dryRun: true }

test('figures of the servers of one process are joined as sum or maximum', () => {
  const listening = [AT_REST, BUSY].map(stats => ({ ...protect(http.createServer()), stats: () => stats }))
  assert.deepEqual(new AllGuards(() => listening).stats(), {
    ...SUMS,
    ...TRUE_OF_ONE,
    ...{ pressure: 0.9, utilisation: 1, demand: 3, load: 3 },
  })
})

test('figures of processes are joined as sum, maximum or mean, and include ended ones', () => {
  const joined = { ...TRUE_OF_ONE, pressure: 0.9, utilisation: 0.625, demand: 2, load: 1.625 }
  assert.deepEqual(combineProcesses([AT_REST, BUSY], []), { ...SUMS, ...joined })
  assert.deepEqual(combineProcesses([AT_REST, BUSY], [BUSY]), {
    ...SUMS,
    ...joined,
    ...{ admitted: 1010, exempt: 9, left: 14, shed: shedOf(1800) },
  })
})
