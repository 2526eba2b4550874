import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Throttle } from '../../src/outbound/throttle.ts'

const near = (actual: number, expected: number): void =>
  assert.ok(Math.abs(actual - expected) < 1e-9, `${actual}, not ${expected}`)

test('the throttle refuses no call until over half were refused, then with the probability of its formula', () => {
  const throttle = new Throttle()
  assert.equal(throttle.probability(0), 0)
  for (let i = 0; i < 5; i++) throttle.served(0)
  for (let i = 0; i < 5; i++) throttle.refused(0)
  assert.equal(throttle.probability(0), 0)
  for (let i = 0; i < 10; i++) throttle.refused(0)
  near(throttle.probability(0), (20 - 2 * 5) / (20 + 1))
})

test('calls that the throttle refused count as requests in its formula', () => {
  const throttle = new Throttle()
  for (let i = 0; i < 3; i++) throttle.refused(0)
  assert.equal(throttle.refuses(0, 0), false, 'one goes out')
  assert.equal(throttle.refuses(0, 0), true)
  near(throttle.probability(0), 4 / 5)
  assert.equal(throttle.refuses(0, 0.99), false)
})

test('the throttle forgets refusals within two seconds', () => {
  const throttle = new Throttle()
  for (let ms = 0; ms < 1000; ms += 10) throttle.refused(ms)
  assert.ok(throttle.probability(1_000) > 0.9)
  assert.equal(throttle.probability(3_000), 0)
  assert.equal(throttle.decided(3_000), 0)
})

test('property: the probability follows from the outcomes of the last two seconds', () => {
  const step = fc.record({ afterMs: fc.nat(500), served: fc.boolean() })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), steps => {
      const throttle = new Throttle()
      const all: { readonly atMs: number; readonly served: boolean }[] = []
      let nowMs = 0
      let inARow = 0
      for (const { afterMs, served } of steps) {
        nowMs += afterMs
        if (served) throttle.served(nowMs)
        else throttle.refused(nowMs)
        inARow = served ? inARow + 1 : 0
        if (inARow === 10) all.length = 0
        all.push({ atMs: nowMs, served })
        const between = (fromMs: number): number => {
          const window = all.filter(({ atMs }) => atMs > fromMs)
          return (window.length - 2 * window.filter(each => each.served).length) / (window.length + 1)
        }
        const probability = throttle.probability(nowMs)
        assert.ok(probability >= 0 && probability <= 0.95)
        // The window moves in steps of 200 ms.
        const possible = Array.from({ length: 22 }, (_, i) => between(nowMs - 2_200 + 20 * i))
        const bounded = (p: number): number => Math.min(0.95, Math.max(0, p))
        assert.ok(probability <= bounded(Math.max(...possible)) + 1e-9, String(probability))
        assert.ok(probability >= bounded(Math.min(...possible)) - 1e-9, String(probability))
      }
    }),
  )
})

test('an origin that refuses everything gets few calls, and all of them within four seconds of its return', () => {
  for (const perSecond of [1, 10, 100, 1000]) {
    const throttle = new Throttle()
    let sent = 0
    const call = (nowMs: number, served: boolean): boolean => {
      if (throttle.refuses(nowMs, Math.random())) return false
      sent++
      if (served) throttle.served(nowMs)
      else throttle.refused(nowMs)
      return true
    }
    const stepMs = 1000 / perSecond
    for (let ms = 0; ms < 60_000; ms += stepMs) call(ms, false)
    // One call a second, one in twenty, and the first few go out anyway.
    assert.ok(sent < 60 + 2 * (0.05 * 60 * perSecond) + 15, `${sent} at ${perSecond}/s`)
    for (let ms = 60_000; ms < 64_000; ms += stepMs) call(ms, true)
    let refused = 0
    for (let ms = 64_000; ms < 70_000; ms += stepMs) if (!call(ms, true)) refused++
    assert.equal(refused, 0, `at ${perSecond}/s`)
  }
})

test('an origin that refuses three of four calls at random still gets over 70 % of all calls', () => {
  const throttle = new Throttle()
  let sent = 0
  for (let ms = 0; ms < 300_000; ms += 10) {
    if (throttle.refuses(ms, Math.random())) continue
    sent++
    if (Math.random() < 0.25) throttle.served(ms)
    else throttle.refused(ms)
  }
  assert.ok(sent > 0.7 * 30_000, `${sent} of 30000 calls went out`)
})
