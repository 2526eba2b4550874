/** Faults in a journey file are found before anything is sent, and reported with their step and field. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseJourney } from '../../../src/attack/journey-file.ts'

const parse = (journey: unknown, origin?: string) =>
  parseJourney(typeof journey === 'string' ? journey : JSON.stringify(journey), 'buy.json', origin, { 'X-Lab': '1' })
const withStep = (step: object, first: object = {}) => ({
  origin: 'http://127.0.0.1:3000',
  steps: [
    { path: '/', extract: { token: { json: '/token' } }, ...first },
    { name: 'pay', path: '/pay', ...step },
  ],
})

describe('a journey file', () => {
  it('is parsed into targets and steps', () => {
    const { list, journey } = parse(
      withStep({ think: '1.5s', body: { a: '{{token}}' }, headers: { 'x-lab': '2', Accept: ['a', 'b'] } }),
      'https://example.org',
    )
    assert.deepEqual(list[0], {
      url: 'https://example.org/',
      method: 'GET',
      headers: { 'X-Lab': '1' },
      body: undefined,
    })
    assert.deepEqual(list[1], {
      url: 'https://example.org/pay',
      method: 'POST',
      headers: { 'x-lab': '2', Accept: ['a', 'b'], 'Content-Type': 'application/json' },
      body: '{"a":"{{token}}"}',
    })
    assert.deepEqual(journey, {
      atOnce: 10_000,
      steps: [
        { name: 'step 1', thinkMs: 0, extract: [{ name: 'token', from: 'json', at: '/token' }] },
        { name: 'pay', thinkMs: 1500, extract: [] },
      ],
    })
  })

  const faults: readonly (readonly [string, unknown, RegExp])[] = [
    ['invalid JSON', '{ "steps": [', /^buy\.json: it is not JSON: .*\.$/],
    ['a list', [], /^buy\.json: expected an object with origin, atOnce, steps, got \[\]\.$/],
    ['no origin', { steps: [{ path: '/' }] }, /^buy\.json, origin: expected a server such as .*, got none\.$/],
    ['an origin with a path', { origin: 'http://a/b', steps: [{ path: '/' }] }, /, origin: .*got "http:\/\/a\/b"\.$/],
    ['no steps', { origin: 'http://a' }, /, steps: expected a list of 1 to 20 steps, got none\.$/],
    [
      'an invalid atOnce',
      { ...withStep({}), atOnce: 0 },
      /, atOnce: expected a whole number from 1 to 1000000, got 0\.$/,
    ],
    ['an unknown field', withStep({ extrat: {} }), /, step 2 \(pay\): "extrat" is unknown; did you mean extract\?\.$/],
    [
      'a step that is not an object',
      { origin: 'http://a', steps: [1] },
      /, step 1: expected an object with name, .*, got 1\.$/,
    ],
    [
      'a path without a slash',
      withStep({ path: 'pay' }),
      /, step 2 \(pay\), path: expected a path such as .*, got "pay"\.$/,
    ],
    ['a wrong method', withStep({ method: 'FETCH' }), /, step 2 \(pay\), method: .*FETCH.*\.$/],
    [
      'a wrong header',
      withStep({ headers: { 'a b': 'c' } }),
      /, step 2 \(pay\), headers: header names must be .*"a b"\.$/,
    ],
    [
      'a header that is a number',
      withStep({ headers: { a: 1 } }),
      /, headers, a: expected a text or a list .*, got 1\.$/,
    ],
    ['a reserved header', withStep({ headers: { Connection: 'close' } }), /, headers: header Connection is set by/],
    [
      'a think time without a unit',
      withStep({ think: '500' }),
      /, step 2 \(pay\), think: it needs a unit: 500 of what\?/,
    ],
    ['a think time that is a number', withStep({ think: 500 }), /, think: expected a text such as "500ms", got 500\.$/],
    [
      'a think time before the first step',
      withStep({}, { think: '1s' }),
      /, step 1, think: the first step starts with/,
    ],
    [
      'an unknown name in the path',
      withStep({ path: '/{{tokn}}' }),
      /, step 2 \(pay\), path: \{\{tokn\}\} is not one of \{\{token\}\}, /,
    ],
    [
      'an unknown name in the body',
      withStep({ body: '{{x}}' }),
      /, step 2 \(pay\), body: \{\{x\}\} is not one of \{\{token\}\}, /,
    ],
    [
      'a name extracted from the same response',
      withStep({}, { path: '/{{token}}' }),
      /, step 1, path: \{\{token\}\} is not one of \{\{seq\}\}, /,
    ],
    [
      'a reserved name',
      withStep({ extract: { seq: { json: '' } } }),
      /, extract, seq: a name is letters, .*none of seq, /,
    ],
    [
      'two sources of one value',
      withStep({ extract: { a: { json: '', header: 'b' } } }),
      /, extract, a: expected one of \{"json"/,
    ],
    [
      'an invalid JSON pointer',
      withStep({ extract: { a: { json: 'token' } } }),
      /, extract, a: expected a JSON pointer .*, got "token"\.$/,
    ],
    [
      'an unknown source',
      withStep({ extract: { a: { body: 'x' } } }),
      /, extract, a: "body" is unknown; expected json, header, cookie\.$/,
    ],
  ]
  for (const [what, journey, message] of faults) {
    it(`is refused: ${what}`, () => assert.throws(() => parse(journey), { message }))
  }
})
