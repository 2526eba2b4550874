import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pick } from '../runner/arguments.ts'

const known = ['json-server', 'next', 'verdaccio'] as const

test('all when none is named, else those named, in their order', () => {
  assert.deepEqual(pick('app', [], known), [...known])
  assert.deepEqual(pick('app', ['verdaccio', 'next', 'next'], known), ['next', 'verdaccio'])
})

test('an unknown name is refused with the nearest one', () => {
  assert.throws(() => pick('app', ['verdacio'], known), /there is no app 'verdacio'; did you mean verdaccio\?/)
  assert.throws(() => pick('app', ['postgres'], known), /there are json-server, next, verdaccio/)
})
