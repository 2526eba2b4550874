/** A load without any answer is reported with the reasons. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { whyUnanswered } from '../../src/report/attack-words.ts'

const load = { scheduled: 1200, unsent: 200, answered: {}, failed: { 'response-timeout': 990, reset: 10 } }

test('whyUnanswered() gives the counts and reasons for a load without a response', () => {
  assert.equal(
    whyUnanswered(load),
    'none of 1,200 requests was answered (990 response-timeout, 10 reset, 200 not sent)',
  )
})

test('whyUnanswered() is undefined if any request was answered or none was scheduled', () => {
  assert.equal(whyUnanswered({ ...load, answered: { '503': 1 } }), undefined)
  assert.equal(whyUnanswered({ scheduled: 0, unsent: 0, answered: {}, failed: {} }), undefined)
})
