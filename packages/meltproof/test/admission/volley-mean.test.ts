/** What completes together is one observation. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { VolleyMean } from '../../src/admission/volley-mean.ts'

const far = 10

test('apart from each other, the variance of the mean is the usual one', () => {
  fc.assert(
    fc.property(fc.array(fc.double({ min: 0, max: 1000, noNaN: true }), { minLength: 2, maxLength: 50 }), times => {
      const mean = new VolleyMean()
      for (const [i, each] of times.entries()) mean.add(i * far, each)
      const average = times.reduce((sum, each) => sum + each, 0) / times.length
      const sample = times.reduce((sum, each) => sum + (each - average) ** 2, 0) / (times.length - 1)
      assert.ok(Math.abs(mean.variance() - sample / times.length) <= 1e-6 * (1 + sample))
    }),
  )
})

test('ten rows of one commit say as much as one', () => {
  const commits = [10, 14, 12, 30]
  const [rows, single] = [new VolleyMean(), new VolleyMean()]
  commits.forEach((each, i) => {
    single.add(i * far, each)
    for (let row = 0; row < 10; row++) rows.add(i * far + row * 0.1, each)
  })
  assert.equal(rows.count, 40)
  assert.ok(Math.abs(rows.variance() - single.variance()) < 1e-9)
})

test('cleared, it knows nothing of before', () => {
  const mean = new VolleyMean()
  for (let i = 0; i < 5; i++) mean.add(i * far, i * 100)
  mean.clear()
  for (let i = 0; i < 3; i++) mean.add(i * far, 7)
  assert.deepEqual([mean.count, mean.sum, mean.variance()], [3, 21, 0])
})
