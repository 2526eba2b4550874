/** isStream() recognises from a response head that its body is a stream. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isStream } from '../../src/outbound/headers.ts'

test('isStream() recognises streaming media types, whatever their case and parameters', () => {
  for (const type of [
    'text/event-stream',
    'Text/Event-Stream; charset=utf-8',
    'application/x-ndjson',
    'application/jsonl',
    'multipart/x-mixed-replace;boundary=frame',
    'application/vnd.amazon.eventstream',
    'application/vnd.docker.multiplexed-stream',
  ]) {
    assert.equal(isStream({ 'content-type': type }), true, type)
    assert.equal(isStream(['Server', 'x', 'Content-Type', type]), true, type)
    assert.equal(isStream([Buffer.from('Content-Type'), Buffer.from(type)]), true, type)
  }
  for (const type of ['text/event-streams', 'application/json', 'text/plain', '']) {
    assert.equal(isStream({ 'content-type': type }), false, type)
  }
  assert.equal(isStream({}), false)
})
