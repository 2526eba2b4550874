import assert from 'node:assert/strict'
import { test } from 'node:test'
import { reasonsToDoubt } from '../../src/melt/doubts.ts'
import type { StepResult } from '../../src/melt/measured.ts'
import { madeMeasured } from './fixture.ts'

const good = madeMeasured()

test('a steady run leaves no doubt', () => {
  assert.deepEqual(reasonsToDoubt(good), [])
})

for (const [what, doubted, words] of [
  ['a core that changed speed', { ...good, spinPerMs: { before: 900_000, after: 800_000 } }, /changed speed by 11 %/],
  [
    'a capacity that drifted',
    { ...good, capacity: { ...good.capacity!, after: 170, drift: 170 / 195 - 1 } },
    /drifted by 13 %: 195\/s before, 170\/s after/,
  ],
] as const) {
  test(`reasonsToDoubt() reports ${what}`, () => {
    const why = reasonsToDoubt(doubted)
    assert.equal(why.length, 1)
    assert.match(why[0]!, words)
  })
}

test('the same reason from several steps is reported once, with the names of the steps', () => {
  const late = (step: StepResult): StepResult => ({
    ...step,
    generator: { ...step.generator, certified: false, why: ['the generator was late'] },
  })
  const steps = good.steps.map(step => (step.multiple === 10 && step.arm !== 'bare' ? late(step) : step))
  assert.deepEqual(reasonsToDoubt({ ...good, steps }), ['protected 10x, toobusy-js 10x: the generator was late'])
})

test('an arm whose recovery is uncertain is a reason to doubt the run', () => {
  const arm = { arm: 'bare', backAfterS: null, died: false, unsure: 'it was late before the spike', seconds: [] }
  const shape = { beforeS: 2, spike: 10, spikeS: 2, afterS: 8, retries: 2 }
  const why = reasonsToDoubt({ ...good, recovery: { shape, arms: [arm, { ...arm, unsure: null }] } })
  assert.deepEqual(why, ['bare, recovery: it was late before the spike'])
})
