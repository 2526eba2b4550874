import assert from 'node:assert/strict'
import { test } from 'node:test'
import { caughtPromise } from '../src/warnings.ts'
import { show, showThrown } from '../src/options.ts'

const boom = (): never => {
  throw new Error('boom')
}
const hostile = new Proxy({}, { get: boom, has: boom, getPrototypeOf: boom, ownKeys: boom })
const { proxy: revoked, revoke } = Proxy.revocable({}, {})
revoke()

test('caughtPromise() recognises a promise, and passes its rejection on', async () => {
  const reasons: unknown[] = []
  assert.equal(caughtPromise(Promise.reject(1)), true)
  assert.equal(
    caughtPromise(Promise.reject(2), reason => reasons.push(reason)),
    true,
  )
  assert.equal(caughtPromise(Object.fromEntries([['then', boom]])), true)
  await new Promise(resolve => setImmediate(resolve))
  assert.deepEqual(reasons, [2])
})

test('caughtPromise() returns false for anything else, even if reading it throws', () => {
  for (const value of [undefined, null, 0, 'then', {}, Object.fromEntries([['then', 1]]), () => 1, hostile, revoked]) {
    assert.equal(caughtPromise(value), false)
  }
})

test('show() names values that throw when they are read', () => {
  const error = Object.defineProperties(new Error('x'), { name: { get: boom }, stack: { get: boom } })
  for (const value of [hostile, revoked, Object.create(null), error]) {
    assert.equal(show(value), 'an object')
    assert.equal(showThrown(value, { stack: true }), 'an object')
  }
  assert.equal(show(Promise.resolve()), 'a promise')
})
