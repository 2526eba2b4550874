import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mostUsers, nextProbe } from '../../src/melt/capacity-search.ts'

/** Runs the search on an app whose goodput is a function of its users. */
function search(app: (users: number) => number) {
  const done: Parameters<typeof nextProbe>[0][number][] = []
  for (;;) {
    const next = nextProbe(done)
    if (next.kind === 'done') return { ...next, probes: done }
    assert.ok(Number.isInteger(next.users) && next.users >= 1, `${next.users} users`)
    assert.ok(done.length < 30, 'the search does not end')
    done.push({ kind: next.kind, users: next.users, goodput: app(next.users) })
  }
}

test('a CPU-bound app is at its capacity with one user', () => {
  const found = search(() => 195)
  assert.equal(found.capacity, 195)
  assert.equal(found.users, 1)
  assert.ok(found.probes.length <= 7, `${found.probes.length} probes`)
})

test('a pool of ten connections of 50 ms needs ten users', () => {
  const found = search(users => Math.min(users, 10) * 20)
  assert.equal(found.capacity, 200)
  assert.ok(found.users >= 10 && found.users <= 16, `${found.users} users`)
})

test('a fast app grows for long', () => {
  const found = search(users => 20_000 * (1 - Math.exp(-users / 8)))
  assert.ok(found.capacity > 19_000, String(found.capacity))
})

test('an app that thrashes is measured at its peak, not beyond', () => {
  const found = search(users => (users <= 8 ? users * 100 : 800 - (users - 8) * 20))
  assert.equal(found.users, 8)
  assert.equal(found.capacity, 800)
})

test('one flat doubling does not end the climb', () => {
  const steps: Record<number, number> = { 1: 100, 2: 100, 4: 200, 8: 400 }
  assert.ok(search(users => steps[users] ?? 400).capacity >= 400)
})

test('the figure is the confirmation, not the luckiest probe', () => {
  let calls = 0
  const found = search(() => (calls++ === 1 ? 260 : 195))
  assert.equal(found.capacity, 195)
})

test('users end at the limit', () => {
  const found = search(users => users)
  assert.ok(found.users <= mostUsers * 1.5)
})
