import assert from 'node:assert/strict'
import { test } from 'node:test'
import { allowedOrigins } from '../../src/deadline/allowed-origins.ts'
import { isMeltproofError } from '../../src/errors.ts'

test('nowhere unless told', () => {
  assert.equal(allowedOrigins('to', undefined)('http://prices'), false)
  assert.equal(allowedOrigins('to', [])('http://prices'), false)
})

test('exactly these origins', () => {
  const allowed = allowedOrigins('to', ['http://prices:8080', 'https://API.example.com:443/'])
  assert.equal(allowed('http://prices:8080'), true)
  assert.equal(allowed('https://api.example.com'), true)
  for (const other of [
    'http://prices',
    'https://prices:8080',
    'http://prices:80801',
    'http://api.example.com',
    'null',
  ]) {
    assert.equal(allowed(other), false, other)
  }
})

test('everything below a host, and not what merely ends alike', () => {
  const allowed = allowedOrigins('to', ['https://*.internal.example'])
  assert.equal(allowed('https://a.internal.example'), true)
  assert.equal(allowed('https://a.b.internal.example'), true)
  for (const other of [
    'https://internal.example',
    'https://evilinternal.example',
    'http://a.internal.example',
    'https://a.internal.example.evil.com',
    'https://a.internal.example:8443',
  ]) {
    assert.equal(allowed(other), false, other)
  }
})

test('everywhere', () => {
  assert.equal(allowedOrigins('to', ['*'])('https://anything'), true)
})

test('what is no origin is an error', () => {
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
    assert.throws(() => allowedOrigins('to', [bad]), isMeltproofError, String(bad))
  }
  assert.throws(() => allowedOrigins('to', 'http://prices'), isMeltproofError)
})
