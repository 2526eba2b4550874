/** The value for an origin, and which patterns are rejected. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isMeltproofError } from '../../src/errors.ts'
import { OriginTable } from '../../src/outbound/origin-table.ts'

const tableOf = (...patterns: unknown[]): OriginTable<unknown> => {
  const table = new OriginTable()
  for (const pattern of patterns) table.set('to', pattern, pattern)
  return table
}

test('an empty table has no value for any origin', () => {
  assert.equal(tableOf().of('http://prices'), undefined)
})

test('an exact origin matches itself alone', () => {
  const table = tableOf('http://prices:8080', 'https://API.example.com:443/', 'unix:/run/prices')
  assert.equal(table.of('http://prices:8080'), 'http://prices:8080')
  assert.equal(table.of('https://api.example.com'), 'https://API.example.com:443/')
  assert.equal(table.of('unix:/run/prices'), 'unix:/run/prices')
  for (const other of [
    'http://prices',
    'https://prices:8080',
    'http://prices:80801',
    'http://api.example.com',
    'unix:/run/prices/2',
    'null',
  ]) {
    assert.equal(table.of(other), undefined, other)
  }
})

test('a wildcard matches all hosts below its domain, and no other host whose name ends with the same letters', () => {
  const table = tableOf('https://*.internal.example')
  assert.ok(table.of('https://a.internal.example'))
  assert.ok(table.of('https://a.b.internal.example'))
  for (const other of [
    'https://internal.example',
    'https://evilinternal.example',
    'http://a.internal.example',
    'https://a.internal.example.evil.com',
    'https://a.internal.example:8443',
  ]) {
    assert.equal(table.of(other), undefined, other)
  }
})

test("an exact origin beats a wildcard, a longer wildcard a shorter one, and any of them '*'", () => {
  const table = tableOf('*', 'https://*.example', 'https://*.deep.example', 'https://a.deep.example')
  assert.equal(table.of('https://a.deep.example'), 'https://a.deep.example')
  assert.equal(table.of('https://b.deep.example'), 'https://*.deep.example')
  assert.equal(table.of('https://b.example'), 'https://*.example')
  assert.equal(table.of('https://anything'), '*')
})

test('anything but an origin throws', () => {
  for (const bad of [
    'prices',
    'ftp://prices',
    'http://prices/path',
    'http://u:p@prices',
    'http://',
    'http://*',
    'http://a.*.b',
    5,
  ]) {
    assert.throws(() => tableOf(bad), isMeltproofError, String(bad))
  }
})
