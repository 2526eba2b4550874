/**
 * The request that a call belongs to, before and after the first call of currentScope(). A copy of the module
 * has only one first call, so each test loads a new copy.
 */
import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'

type Scope = typeof import('../../src/outbound/scope.ts')
let scope: Scope
let copies = 0
beforeEach(async () => {
  scope = (await import(`../../src/outbound/scope.ts?copy=${copies++}`)) as Scope
})

test('outside of any request there is no scope', () => {
  assert.equal(scope.currentScope(), undefined)
})

test('the first call ever has the scope of the running handler', () => {
  const [one, other] = [{ openCalls: undefined }, { openCalls: undefined }]
  scope.runInScope(one, () => undefined)
  assert.equal(
    scope.runInScope(other, () => scope.currentScope()),
    other,
  )
})

test('further calls of a handler have its scope, too', () => {
  const [one, other] = [{ openCalls: undefined }, { openCalls: undefined }]
  scope.runInScope(one, () => undefined)
  const asked = scope.runInScope(other, () => [scope.currentScope(), scope.currentScope()])
  assert.deepEqual(asked, [other, other])
  assert.equal(asked[1], other)
})

test('the first calls ever, made asynchronously, have the scope of the only open request until it ends', async () => {
  const [gone, open] = [{ openCalls: undefined }, { openCalls: undefined }]
  scope.runInScope(gone, () => undefined)
  scope.leaveScope(gone)
  const asked = await scope.runInScope(open, async () => {
    await sleep(1)
    const first = scope.currentScope()
    await sleep(1)
    return [first, scope.currentScope()]
  })
  assert.equal(asked[0], open)
  assert.equal(asked[1], open)
  scope.leaveScope(open)
  assert.equal(scope.currentScope(), undefined)
})

test('with several open requests the first call has no scope, and requests after it have theirs', async () => {
  const ask = async (): Promise<object | undefined> => {
    await sleep(1)
    return scope.currentScope()
  }
  const [one, two, three, four] = [
    { openCalls: undefined },
    { openCalls: undefined },
    { openCalls: undefined },
    { openCalls: undefined },
  ]
  const before = [scope.runInScope(one, ask), scope.runInScope(two, ask)]
  assert.deepEqual(await Promise.all(before), [undefined, undefined])
  const after = [scope.runInScope(three, ask), scope.runInScope(four, ask)]
  const [third, fourth] = await Promise.all(after)
  assert.equal(third, three)
  assert.equal(fourth, four)
})

test('after a call made before any request, every request has its scope', async () => {
  assert.equal(scope.currentScope(), undefined)
  const one = { openCalls: undefined }
  const asked = scope.runInScope(one, async () => {
    await sleep(1)
    return scope.currentScope()
  })
  assert.equal(await asked, one)
})
