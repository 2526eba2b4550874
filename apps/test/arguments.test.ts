import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pick } from '../runner/arguments.ts'

const known = ['json-server', 'next', 'verdaccio'] as const

test('pick() returns all known names if none is given, else the given ones in known order', () => {
  assert.deepEqual(pick('app', [], known), [...known])
  assert.deepEqual(pick('app', ['verdaccio', 'next', 'next'], known), ['next', 'verdaccio'])
})

test('pick() rejects an unknown name, and suggests the nearest one', () => {
  assert.throws(() => pick('app', ['verdacio'], known), /there is no app 'verdacio'; did you mean verdaccio\?/)
  assert.throws(() => pick('app', ['postgres'], known), /there are json-server, next, verdaccio/)
})
