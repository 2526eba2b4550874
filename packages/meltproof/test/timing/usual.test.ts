import assert from 'node:assert/strict'
import { test } from 'node:test'
import { UsualTimes } from '../../src/timing/usual.ts'

test('the median of the last calls, not moved by a few slow ones', () => {
  const usual = new UsualTimes()
  assert.equal(usual.of('a'), undefined)
  for (let i = 0; i < 20; i++) usual.note('a', 50)
  for (let i = 0; i < 5; i++) usual.note('a', 5000)
  assert.equal(usual.of('a'), 50)
  assert.equal(usual.of('a', 100, 9000), 5000, 'of those that can be meant')
  assert.equal(usual.of('a', 60, 70), 50, 'of all when none can')
  for (let i = 0; i < 31; i++) usual.note('a', 200)
  assert.equal(usual.of('a'), 200, 'it follows a peer that has become slower')
})

test('peers are forgotten, the one unheard of for longest first', () => {
  const usual = new UsualTimes()
  usual.note('old', 1)
  usual.note('kept', 2)
  for (let i = 0; i < 255; i++) {
    usual.note(`peer ${i}`, 3)
    usual.note('kept', 2)
  }
  assert.equal(usual.of('old'), undefined)
  assert.equal(usual.of('kept'), 2)
})
