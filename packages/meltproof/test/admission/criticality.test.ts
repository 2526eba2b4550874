import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  COHORTS,
  CRITICALITIES,
  classOf,
  isCriticality,
  LEVELS,
  levelOf,
  readCriticality,
} from '../../src/admission/queue/criticality.ts'

test('a better class has a lower level than a worse one, whatever the keys', () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), (one, other) => {
      for (let i = 1; i < CRITICALITIES.length; i++) {
        assert.ok(levelOf(CRITICALITIES[i - 1]!, one) < levelOf(CRITICALITIES[i]!, other))
      }
    }),
  )
})

test('a key keeps its level within an epoch, and its class always', () => {
  fc.assert(
    fc.property(fc.constantFrom(...CRITICALITIES), fc.string(), fc.nat(), (criticality, key, epoch) => {
      const level = levelOf(criticality, key, epoch)
      assert.equal(levelOf(criticality, key, epoch), level)
      assert.ok(Number.isInteger(level) && level >= 0 && level < LEVELS)
      assert.equal(CRITICALITIES[classOf(level)], criticality)
    }),
  )
})

test('keys spread evenly over the cohorts, and are redistributed in another epoch', () => {
  const users = 12_800
  const count = new Array<number>(COHORTS).fill(0)
  let moved = 0
  for (let user = 0; user < users; user++) {
    const cohort = levelOf('critical_plus', `user-${user}`)
    count[cohort]!++
    if (levelOf('critical_plus', `user-${user}`, 1) !== cohort) moved++
  }
  // 100 each on average. Six Poisson standard deviations are 60.
  assert.ok(Math.max(...count) < 160 && Math.min(...count) > 40, `${Math.min(...count)} to ${Math.max(...count)}`)
  assert.ok(moved > 0.98 * users, `${moved} of ${users} moved`)
})

test('readCriticality() reads valid answers, and returns undefined for others', () => {
  assert.equal(readCriticality('sheddable'), levelOf('sheddable'))
  assert.equal(readCriticality({}), levelOf('critical'))
  assert.equal(readCriticality({ key: 'a' }), levelOf('critical', 'a'))
  assert.equal(readCriticality({ criticality: 'sheddable_plus', key: 'a' }, 7), levelOf('sheddable_plus', 'a', 7))
  for (const nonsense of [
    undefined,
    null,
    3,
    'urgent',
    '',
    [],
    { criticality: 'urgent' },
    { key: 3 },
    () => 'critical',
    Promise.resolve('critical'),
  ]) {
    const level = readCriticality(nonsense)
    // An array or function is an object without either field, so it counts as the default, like {}.
    assert.equal(level, typeof nonsense === 'object' && Array.isArray(nonsense) ? levelOf('critical') : undefined)
  }
  assert.equal(isCriticality('toString'), false)
})
