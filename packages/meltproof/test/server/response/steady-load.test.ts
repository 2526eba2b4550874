import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { LoadFigures } from '../../../src/process-gate.ts'
import { SteadyLoad } from '../../../src/server/response/steady-load.ts'

const figures = (offeredPerS: number, load: number): LoadFigures => ({
  loop: 0.1,
  utilisation: Math.min(1, load),
  demand: Math.max(1, load),
  offeredPerS,
  shedPerS: 0,
  failedPerS: 0,
})

/** The weights that a balancer computes ten times a second, for a capacity that changes with time. */
function weights(capacity: (nowMs: number) => number, untilMs: number): number[] {
  const steady = new SteadyLoad()
  return Array.from({ length: untilMs / 100 }, (_, i) => {
    const told = steady.steadied(figures(90, 90 / capacity(100 * i)), 100 * i)
    return told.offeredPerS / (told.utilisation * told.demand)
  })
}

test('a steady capacity is reported as it is', () => {
  for (const weight of weights(() => 200, 5000)) assert.ok(Math.abs(weight - 200) < 1e-6, `${weight}`)
})

test('a capacity that swings by a quarter each second moves the weight by less than 32 of 200', () => {
  const swaying = weights(nowMs => (Math.floor(nowMs / 1000) % 2 === 0 ? 250 : 160), 20_000).slice(100)
  assert.ok(Math.max(...swaying) - Math.min(...swaying) < 32, `${Math.min(...swaying)} to ${Math.max(...swaying)}`)
})

test('an instance that becomes four times slower or faster is reported so within two seconds', () => {
  for (const times of [0.25, 4]) {
    const told = weights(nowMs => (nowMs < 10_000 ? 200 : 200 * times), 12_000).at(-1)!
    assert.ok(Math.abs(Math.log(told / (200 * times))) < 0.5, `${told}`)
  }
})

test('a slow first second no longer counts after two more', () => {
  const told = weights(nowMs => (nowMs < 1000 ? 150 : 200), 3000).at(-1)!
  assert.ok(told > 175, `${told}`)
})

test('utilisation and demand stay in range for any input', () => {
  const any = fc.double({ min: 0, max: 1e6 })
  fc.assert(
    fc.property(fc.array(fc.tuple(any, any, fc.nat(5000)), { minLength: 1 }), all => {
      const steady = new SteadyLoad()
      let nowMs = 0
      for (const [offered, load, passed] of all) {
        nowMs += passed
        const { utilisation, demand } = steady.steadied(figures(offered, load), nowMs)
        const sane = Number.isNaN(load) || (utilisation >= 0 && utilisation <= 1 && demand >= 1)
        assert.ok(sane, `${utilisation} ${demand}`)
      }
    }),
  )
})
