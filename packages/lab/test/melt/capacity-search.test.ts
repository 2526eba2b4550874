import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mostUsers, type NextProbe, nextProbe, type Probe } from '../../src/melt/capacity-search.ts'

/** Runs the search on an app whose goodput is a function of its users. */
function search(app: (users: number) => number) {
  const done: (Probe & NextProbe)[] = []
  for (;;) {
    const next = nextProbe(done)
    assert.ok(Number.isInteger(next.users) && next.users >= 1, `${next.users} users`)
    assert.ok(done.length < 30, 'the search does not end')
    const goodput = app(next.users)
    if (next.kind === 'confirm') return { users: next.users, capacity: goodput, probes: done }
    done.push({ ...next, goodput })
  }
}

test('the capacity of a CPU-bound app is found at one user', () => {
  const found = search(() => 195)
  assert.equal(found.capacity, 195)
  assert.equal(found.users, 1)
  assert.ok(found.probes.length <= 6, `${found.probes.length} probes`)
})

test('the capacity of a pool of ten connections is found at ten users or a few more', () => {
  const found = search(users => Math.min(users, 10) * 20)
  assert.equal(found.capacity, 200)
  assert.ok(found.users >= 10 && found.users <= 16, `${found.users} users`)
})

test('the search continues while a fast app still gains from more users', () => {
  const found = search(users => 20_000 * (1 - Math.exp(-users / 8)))
  assert.ok(found.capacity > 19_000, String(found.capacity))
})

test('the capacity of an app that thrashes is that of its peak', () => {
  const found = search(users => (users <= 8 ? users * 100 : 800 - (users - 8) * 20))
  assert.equal(found.users, 8)
  assert.equal(found.capacity, 800)
})

test('one doubling of users without a gain does not end the search', () => {
  const steps: Record<number, number> = { 1: 100, 2: 100, 4: 200, 8: 400 }
  assert.ok(search(users => steps[users] ?? 400).capacity >= 400)
})

test('the capacity is the rate of the confirmation, not of the best probe', () => {
  let calls = 0
  const found = search(() => (calls++ === 1 ? 260 : 195))
  assert.equal(found.capacity, 195)
})

test('the search ends at a maximum number of users', () => {
  const found = search(users => users)
  assert.ok(found.users <= mostUsers * 1.5)
})
