/** The message of an exceeded deadline, and what it blames. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type DeadlineFacts, DeadlineExceededError } from '../../src/deadline/deadline-error.ts'

const said = (facts: Partial<DeadlineFacts>): string =>
  new DeadlineExceededError({ phase: 'first-byte', limitMs: 3000, waitedMs: 3002, ownStallMs: 0, ...facts }).message

test('without a stall the error blames the other side', () => {
  assert.match(said({}), /took more than 3000 ms\. Waited 3002 ms .* not stalled meanwhile: the other side/)
})

test('the error blames a stall that did not extend the limit, and not one that did', () => {
  assert.match(said({ waitedMs: 3202, ownStallMs: 200 }), /stalled for 200 ms of that\. The limit was extended/)
  assert.match(said({ ownStallMs: 200 }), /which left 2802 ms: the stall is at least part of the cause/)
})

test('the error does not blame a stall that cost the call nothing', () => {
  const message = said({ ownStallMs: 200, heldUpMs: 0 })
  assert.match(
    message,
    /stalled for 200 ms of that, but it had nothing to do then except to wait for the other side: the stall is not the cause/,
  )
  assert.match(
    said({ waitedMs: 3052, ownStallMs: 200, heldUpMs: 50 }),
    /The limit was extended by that time: the stall is not the cause/,
  )
  assert.match(said({ ownStallMs: 200, heldUpMs: 50 }), /which left 2952 ms/)
})

test('the error says if the call was never started', () => {
  assert.match(said({ phase: 'refused', limitMs: -4, what: 'the call' }), /the call was not started, because only 0 ms/)
})
