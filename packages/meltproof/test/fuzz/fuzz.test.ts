/** A small fuzz run passes on a healthy server. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Random } from '../../sim/random.ts'
import { makeConversation } from '../../fuzz/conversations.ts'
import { fuzz, SMALL } from './run-fuzz.ts'

test('the fuzz run passes on a healthy server', async () => {
  const { code, out, errors } = await fuzz(undefined, ...SMALL)
  assert.equal(errors, '')
  assert.equal(code, 0)
  assert.match(out, /seed 1/)
  assert.match(out, /10\/10 .* inflight 0, queued 0/)
  assert.match(out, /passed: \d+ requests/)
})

test('an invalid option is an error that names it', async () => {
  const { code, errors } = await fuzz(undefined, '--requests', 'many')
  assert.equal(code, 2)
  assert.match(errors, /--requests must be a whole number from 1, got 'many'/)
})

test('the same seed makes the same conversations, of every kind', () => {
  const some = (seed: number) => Array.from({ length: 500 }, (_, i) => makeConversation(new Random(seed + i)))
  const first = some(7)
  assert.deepEqual(some(7), first)
  assert.notDeepEqual(some(1_000_007), first)
  assert.equal(new Set(first.map(({ kind }) => kind)).size, 13)
  for (const { bytes, requests, cuts } of first) {
    assert.ok(requests >= 1)
    assert.ok(cuts.every(cut => cut >= 0 && cut <= bytes.length))
  }
})
