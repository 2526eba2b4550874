import assert from 'node:assert/strict'
import { test } from 'node:test'
import { callRoute } from '../../src/outbound/call-route.ts'

test('a route keeps words, and drops ids and queries', () => {
  for (const [path, route] of [
    ['/', '/'],
    ['', '/'],
    ['/users', '/users'],
    ['/users/', '/users'],
    ['/users/7/orders?page=2#top', '/users/*/orders'],
    ['/v1/users/3f2504e0-4f89-11d3-9a0c-0305e82c3301', '/*/users/*'],
    ['/users/bob@example.org', '/users/*'],
    [`/${'a'.repeat(33)}`, '/*'],
    ['/a/b/c/d', '/a/b/c/d'],
    ['/a/b/c/d/e/f', '/a/b/c/d/*'],
    ['//a', '//a'],
    ['?q=/a/b', '/'],
    ['http://proxied.example/x', '/*//proxied.example/x'],
  ] as const) {
    assert.equal(callRoute(path), route, path)
  }
})

test('a route is short, whatever the path', () => {
  for (const path of ['/x'.repeat(50_000), `/${'%20'.repeat(50_000)}`, '/'.repeat(100_000)]) {
    assert.ok(callRoute(path).length <= 4 * 33 + 2)
  }
})
