/** The balancers of simulated fleets choose like the ones they are named after. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Balancer, Server } from '../../sim/fleet/balancers/balancer.ts'
import { LeastConnections } from '../../sim/fleet/balancers/least-connections.ts'
import { RoundRobin } from '../../sim/fleet/balancers/round-robin.ts'
import { WeightedByReport, weightOf } from '../../sim/fleet/balancers/weighted-by-report.ts'
import { Random } from '../../sim/random.ts'

const servers = (count: number): Server[] =>
  Array.from({ length: count }, (_, id) => ({ id, open: 0, maxconn: Number.POSITIVE_INFINITY }))
const chosen = (balancer: Balancer, count: number): (number | undefined)[] =>
  Array.from({ length: count }, () => balancer.choose()?.id)
const report = (fields: string) => ({ text: `TEXT ${fields}`, binary: '' })

describe('RoundRobin', () => {
  test('skips servers at their maxconn, and the server that refused the request', () => {
    const all = servers(3)
    const balancer = new RoundRobin()
    balancer.rotation(all)
    all[1]!.maxconn = 0
    assert.deepEqual(chosen(balancer, 4), [0, 2, 0, 2])
    assert.equal(balancer.choose(all[0])!.id, 2)
    all[0]!.maxconn = all[2]!.maxconn = 0
    assert.equal(balancer.choose(), undefined)
  })
})

describe('LeastConnections', () => {
  test('chooses the server with the fewest connections, and round robin among equals', () => {
    const all = servers(3)
    const balancer = new LeastConnections()
    balancer.rotation(all)
    assert.deepEqual(chosen(balancer, 3), [0, 1, 2])
    all[0]!.open = all[2]!.open = 2
    assert.deepEqual(chosen(balancer, 2), [1, 1])
    assert.notEqual(balancer.choose(all[1])!.id, 1)
  })
})

describe('WeightedByReport', () => {
  test('has the weights of Envoy: integers with a penalty for errors', () => {
    assert.equal(weightOf(report('application_utilization:0.3,rps_fractional:100,eps:0'), 1), 333)
    assert.equal(weightOf(report('application_utilization:0.5,rps_fractional:100,eps:50'), 1), 100)
    assert.equal(weightOf(report('cpu_utilization:0.25,rps_fractional:100'), 1), 400, 'without the other')
    assert.equal(weightOf(report('application_utilization:0.5,rps_fractional:0'), 1), undefined)
  })

  test('uses equal weights in the blackout, then those of the reports, and the median for servers without one', () => {
    const all = servers(3)
    const balancer = new WeightedByReport(new Random(1))
    balancer.rotation(all, 0)
    const tell = (nowMs: number): void => {
      balancer.reported(all[0]!, report('application_utilization:1,rps_fractional:300'), nowMs)
      balancer.reported(all[1]!, report('application_utilization:1,rps_fractional:100'), nowMs)
    }
    tell(100)
    balancer.update(1000)
    assert.deepEqual([...balancer.weights.values()], [1, 1, 1])
    tell(2200)
    balancer.update(2200)
    assert.deepEqual([...balancer.weights.values()], [300, 100, 200])
    const shares = chosen(balancer, 600)
    for (const [id, share] of [300, 100, 200].entries()) {
      const got = shares.filter(each => each === id).length
      assert.ok(Math.abs(got - share) <= 1, `${id}: ${got}`)
    }
    balancer.reported(all[0]!, report('application_utilization:1,rps_fractional:300'), 20_000)
    balancer.update(23_000)
    assert.deepEqual([...balancer.weights.values()], [300, 300, 300], 'the second has expired')
  })
})
