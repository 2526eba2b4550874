/** How the fuzz and the soak distinguish a leak from the noise of collections. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { growth } from '../scripts/growth.ts'

test('a steady leak counts in full despite noise', () => {
  assert.equal(growth([10, 20, 30, 40]), 30)
  assert.equal(growth([10, 21, 29, 41, 50]), 40)
})

test('one outlier neither makes a leak nor hides one', () => {
  assert.equal(growth([30, 30, 12, 30, 30, 30]), 0)
  assert.equal(growth([10, 20, 300, 40, 50, 60]), 50)
})

test('shrinking is negative, and too few samples count as 0', () => {
  assert.equal(growth([30, 20, 10]), -20)
  assert.equal(growth([30]), 0)
  assert.equal(growth([]), 0)
})
