import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { exemptPaths } from '../../src/server/request/exempt-paths.ts'

const exempt = exemptPaths(['/internal/*', '/health'])!

test('an empty list gives no predicate', () => {
  assert.equal(exemptPaths([]), undefined)
})

for (const path of [
  '/health',
  '/health?deep#x',
  '/internal/',
  '/internal/a?b=/../c#/..',
  '/internal/a.b',
  '/internal/..a/b...',
  '/internal/...',
  '/internal/.well-known',
  '/internal/.~',
  '/internal/my%20file;v=1/caf%C3%A9+%23',
  '/internal/caf\u00e9',
]) {
  test(`exempt: ${path}`, () => assert.equal(exempt(path), true))
}

for (const path of [
  // Different paths, even if an app treats them as the same.
  '/',
  '/healthy',
  '/health/',
  '/health#x',
  '/health;x',
  '//health',
  '/%68ealth',
  '/internal',
  '/internal%2fa',
  '/internal\\a',
  '/Internal/a',
  '//internal/a',
  // Absolute form, authority form, asterisk form.
  'http://test/health',
  'http://test/internal/a',
  'test:80',
  '*',
  // With a fragment.
  '/internal/..#x',
  '/internal/.#',
  '/internal/a#/../../checkout',
  '/internal/a/../..#?',
  // With a parameter of a path segment.
  '/internal/..;/checkout',
  '/internal/..;v=1/checkout',
  '/internal/..%3b/checkout',
  // Encoded more than once.
  '/internal/%252e%252E/checkout',
  '/internal/.%25252e%252fcheckout',
  '/internal/a%255c..%255ccheckout',
  // With characters that an app may strip, or may treat as the end.
  '/internal/..%00',
  '/internal/..%3fx',
  '/internal/..%23x',
  '/internal/.%09./checkout',
  '/internal/%09../checkout',
  '/internal/\t../checkout',
  '/internal/.. ',
]) {
  test(`not exempt: ${JSON.stringify(path)}`, () => assert.equal(exempt(path), false))
}

test('not exempt: dot segments, plain and encoded, between slashes of any kind', () => {
  for (const up of ['..', '.', '%2e%2e', '%2E.', '.%2e']) {
    for (const slash of ['/', '%2f', '\\', '%5C']) {
      assert.equal(exempt(`/internal/${up}${slash}checkout`), false, up + slash)
      assert.equal(exempt(`/internal/a${slash}${up}`), false, slash + up)
    }
  }
})

test('an exempt path lies in the exempt folder as WHATWG URLs parse it, even when decoded once or twice', () => {
  const parts = [
    '..',
    '.',
    '/',
    '\\',
    ';',
    '#',
    '?',
    'a',
    '%',
    '25',
    '2e',
    '2F',
    '5c',
    '%2e',
    '%5C',
    '%09',
    '\t',
    ' ',
    '@',
    ':',
  ]
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...parts), { maxLength: 12 }), pieces => {
      let path = `/internal/${pieces.join('')}`
      if (!exempt(path)) return
      path = path.split('?')[0]!
      for (let decoded = 0; decoded < 3; decoded++) {
        assert.match(new URL(path, 'http://test').pathname, /^\/internal\//)
        try {
          path = decodeURIComponent(path)
        } catch {
          return // It cannot be decoded.
        }
      }
    }),
    { numRuns: 20_000 },
  )
})
