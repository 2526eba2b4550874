/** A load of which no request was answered is told, with the reasons. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { whyUnanswered } from '../../src/experiment/unanswered.ts'

const load = { scheduled: 1200, unsent: 200, answered: {}, failed: { 'response-timeout': 990, reset: 10 } }

test('a load without an answer is told, with the reasons', () => {
  assert.equal(
    whyUnanswered(load),
    'none of 1,200 requests was answered (990 response-timeout, 10 reset, 200 not sent)',
  )
})

test('one with an answer is not, whatever the status; nor is one without requests', () => {
  assert.equal(whyUnanswered({ ...load, answered: { '503': 1 } }), undefined)
  assert.equal(whyUnanswered({ scheduled: 0, unsent: 0, answered: {}, failed: {} }), undefined)
})
