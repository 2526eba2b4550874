/** The limits of an origin, and which options are rejected. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { isMeltproofError } from '../../src/errors.ts'
import { DEFAULT_LIMITS, LimitTable, type OutboundLimits } from '../../src/outbound/limits.ts'

describe('limits', () => {
  test('are the defaults, overridden for all origins, overridden by origin', () => {
    const table = new LimitTable({
      totalMs: 2_000,
      origins: {
        'https://slow.example:443/': { totalMs: 60_000, idleMs: false },
        'https://*.example': { connectMs: 7 },
        'https://*.deep.example': { connectMs: 8 },
        'http://*.example:8080': { connectMs: 9 },
        'http://admin.example': false,
        'unix:/var/run/docker.sock': { totalMs: 5 },
      },
    })
    assert.deepEqual(table.of('http://other'), { ...DEFAULT_LIMITS, totalMs: 2_000 })
    assert.deepEqual(table.of('https://slow.example'), { ...DEFAULT_LIMITS, totalMs: 60_000, idleMs: false })
    assert.deepEqual(table.of('https://a.example'), { ...DEFAULT_LIMITS, totalMs: 2_000, connectMs: 7 })
    assert.deepEqual(table.of('https://a.deep.example'), { ...DEFAULT_LIMITS, totalMs: 2_000, connectMs: 8 })
    assert.deepEqual(table.of('http://a.example'), { ...DEFAULT_LIMITS, totalMs: 2_000 })
    assert.deepEqual(table.of('http://a.example:8080'), { ...DEFAULT_LIMITS, totalMs: 2_000, connectMs: 9 })
    assert.deepEqual(table.of('https://example'), { ...DEFAULT_LIMITS, totalMs: 2_000 })
    assert.equal(table.of('http://admin.example'), false)
    assert.deepEqual(table.of('unix:/var/run/docker.sock'), { ...DEFAULT_LIMITS, totalMs: 5 })
  })

  const refused: [string, unknown, string, RegExp][] = [
    ['NaN', { totalMs: Number.NaN }, 'MELTPROOF_OPTION_INVALID', /totalMs must be .* from 1 to 2147483647; got NaN/],
    ['0', { connectMs: 0 }, 'MELTPROOF_OPTION_INVALID', /connectMs .* got 0/],
    ['negative', { idleMs: -1 }, 'MELTPROOF_OPTION_INVALID', /idleMs .* got -1/],
    ['enormous', { firstByteMs: 2 ** 31 }, 'MELTPROOF_OPTION_INVALID', /firstByteMs .* got 2147483648/],
    ['infinite', { totalMs: Number.POSITIVE_INFINITY }, 'MELTPROOF_OPTION_INVALID', /totalMs .* got Infinity/],
    ['a string', { totalMs: '5s' }, 'MELTPROOF_OPTION_INVALID', /totalMs .* got '5s'/],
    ['true', { totalMs: true }, 'MELTPROOF_OPTION_INVALID', /totalMs .* got true/],
    ['half a call', { maxInFlight: 1.5 }, 'MELTPROOF_OPTION_INVALID', /maxInFlight must be a whole number/],
    ['a misspelt name', { totalMS: 5 }, 'MELTPROOF_OPTION_UNKNOWN', /Did you mean 'totalMs'/],
    ['no object', 5, 'MELTPROOF_OPTION_INVALID', /object/],
    ['null', null, 'MELTPROOF_OPTION_INVALID', /object/],
    [
      'an origin with a path',
      { origins: { 'http://a/b': {} } },
      'MELTPROOF_OPTION_INVALID',
      /origins must be an origin/,
    ],
    ['a bare host', { origins: { 'example.com': {} } }, 'MELTPROOF_OPTION_INVALID', /'example.com'/],
    ['a misspelt name within', { origins: { 'http://a': { total: 5 } } }, 'MELTPROOF_OPTION_UNKNOWN', /http:\/\/a/],
    [
      'a bad value within',
      { origins: { 'http://a': { idleMs: 0 } } },
      'MELTPROOF_OPTION_INVALID',
      /\['http:\/\/a'\].idleMs/,
    ],
    ['no list of origins', { tellTo: 'http://a' }, 'MELTPROOF_OPTION_INVALID', /a list of origins/],
    ['true for an origin', { origins: { 'http://a': true } }, 'MELTPROOF_OPTION_INVALID', /or false/],
  ]
  for (const [what, options, code, message] of refused) {
    test(`refuses ${what}`, () => {
      assert.throws(
        () => new LimitTable(options as OutboundLimits),
        error => isMeltproofError(error) && error.code === code && message.test(error.message),
      )
    })
  }
})
