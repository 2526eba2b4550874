import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { RouteCosts } from '../../src/server/route-costs.ts'

describe('route costs', () => {
  it('tell mean and share, the dearest first', () => {
    const costs = new RouteCosts()
    for (let i = 0; i < 9; i++) costs.spent('/cheap', 10)
    costs.spent('/dear', 180)
    costs.spent('/dear', 180)
    assert.deepEqual(costs.dearest(3), [
      { route: '/dear', meanMs: 180, share: 0.8 },
      { route: '/cheap', meanMs: 10, share: 0.2 },
    ])
    assert.equal(costs.dearest(1).length, 1)
    assert.deepEqual(new RouteCosts().dearest(3), [])
  })

  it('follow the traffic, and forget routes nobody asks for', () => {
    const costs = new RouteCosts()
    for (let i = 0; i < 5000; i++) costs.spent('/morning', 100)
    for (let i = 0; i < 40_000; i++) costs.spent('/evening', 100)
    assert.deepEqual(
      costs.dearest(3).map(({ route }) => route),
      ['/evening'],
    )
  })

  it('are bounded, whatever the names', () => {
    const costs = new RouteCosts()
    for (let i = 0; i < 1900; i++) costs.spent(`/${i}`, 1)
    const all = costs.dearest(10_000)
    assert.equal(all.length, 101)
    assert.equal(all[0]!.route, 'other routes')
    assert.ok(Math.abs(all.reduce((sum, { share }) => sum + share, 0) - 1) < 1e-9)
  })
})
