import assert from 'node:assert/strict'
import { test } from 'node:test'
import { reasonsToDoubt } from '../../src/report/certify.ts'
import type { StepResult } from '../../src/report/result.ts'
import { madeResult } from './fixture.ts'

const good = madeResult()

test('a quiet, steady, pinned run leaves no doubt', () => {
  assert.deepEqual(reasonsToDoubt(good), [])
})

for (const [what, doubted, words] of [
  ['shared cores', { ...good, conditions: { ...good.conditions, pinning: null } }, /not kept on different cores/],
  [
    'a busy machine',
    { ...good, conditions: { ...good.conditions, busyBefore: { server: 0.4, lab: 0 } } },
    /busy before the run: the server's core 40 %/,
  ],
  [
    'a core that changed speed',
    { ...good, conditions: { ...good.conditions, spinPerMs: { before: 900_000, after: 800_000 } } },
    /changed speed by 11 %/,
  ],
  [
    'drift',
    { ...good, capacity: { ...good.capacity!, after: 170, drift: 170 / 195 - 1 } },
    /drifted by 13 %: 195\/s before, 170\/s after/,
  ],
] as const) {
  test(`${what} is a reason`, () => {
    const why = reasonsToDoubt(doubted)
    assert.equal(why.length, 1)
    assert.match(why[0]!, words)
  })
}

test('the same reason of several steps is said once, with their names', () => {
  const late = (step: StepResult): StepResult => ({
    ...step,
    generator: { ...step.generator, certified: false, why: ['the generator was late'] },
  })
  const steps = good.steps.map(step => (step.multiple === 10 && step.arm !== 'bare' ? late(step) : step))
  assert.deepEqual(reasonsToDoubt({ ...good, steps }), ['protected 10x, toobusy-js 10x: the generator was late'])
})
