/** Template fields of requests: their values, and the error for an unknown field. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { OutgoingRequest } from '../../src/load/outgoing-request.ts'
import { seededRandom } from '../../src/load/random.ts'
import { hasFields, hideFields, templateOf } from '../../src/load/template.ts'

const filled = (text: string, number: number, nowMs = 1_795_272_424_612): string => {
  const template = templateOf(text, seededRandom(1))
  return typeof template === 'string' ? template : template(number, nowMs, {})
}

test('every template field is filled in, wherever it is', () => {
  assert.equal(filled('{"a":{"b":{{seq}}}}', 42), '{"a":{"b":42}}')
  assert.equal(filled('<{{sender 7}}|{{turn 7}}|{{timestamp}}>', 0), '<000000000|000000000|1795272424612>')
  assert.equal(filled('<{{sender 7}}|{{ turn  7 }}>', 7 * 12 + 3), '<000000003|000000012>')
  assert.match(filled('{{uuid}}', 1), /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
})

test('a random number is within its bounds, inclusively', () => {
  const template = templateOf('{{random 3 5}}', seededRandom(1)) as (
    number: number,
    now: number,
    extracted: object,
  ) => string
  const seen = new Set(Array.from({ length: 200 }, (_, number) => template(number, 0, {})))
  assert.deepEqual([...seen].sort(), ['3', '4', '5'])
})

test('each request has a different word', () => {
  const words = Array.from({ length: 10_000 }, (_, number) => filled('{{word}}', number))
  assert.equal(new Set(words).size, words.length)
  for (const word of words) assert.match(word, /^[a-z]{9}$/)
})

test('other text is left unchanged, and a backslash escapes a field', () => {
  for (const text of ['', 'plain', '{"a":{"b":1}}', '{{ never ends', '}}']) {
    assert.equal(templateOf(text, Math.random), text)
    assert.ok(!hasFields(text))
  }
  assert.equal(templateOf('Hello \\{{name}}', Math.random), 'Hello {{name}}')
})

test('an unknown or invalid field is refused with the list of fields', () => {
  for (const text of [
    '{{sequence}}',
    '{{}}',
    '{{seq 1}}',
    '{{random 1}}',
    '{{random 1 x}}',
    '{{random -1 5}}',
    '{{__proto__}}',
  ]) {
    assert.throws(
      () => templateOf(text, Math.random),
      /is not one of \{\{seq\}\}, \{\{random 1 100\}\}, .*is a literal/,
      text,
    )
  }
  assert.throws(() => templateOf('{{random 5 1}}', Math.random), /the first number must be the smaller one/)
  assert.throws(() => templateOf('{{sender 0}}', Math.random), /senders must be at least 1/)
})

test('fields survive URL parsing, also of a URL that has already been parsed', () => {
  const { hidden, restore } = hideFields('http://a/{{word}}?q={{random 1 9}}')
  const { pathname, search } = new URL(hidden)
  assert.equal(restore(pathname + search), '/{{word}}?q={{random 1 9}}')
  const through = new URL('/{{word}}/{{random 1 1}}', 'http://a').pathname
  assert.ok(hasFields(through))
  assert.match(filled(through, 1), /^\/[a-z]{9}\/1$/)
})

test('Content-Length is that of the body of each request', () => {
  const request = new OutgoingRequest({ head: 'POST /{{seq}} HTTP/1.1', body: '{{seq}}é', isHead: false }, Math.random)
  const text = (number: number): string => Buffer.from(request.bytes(number)).toString('latin1')
  assert.equal(text(7), 'POST /7 HTTP/1.1\r\nContent-Length: 2\r\n\r\n7é')
  assert.equal(text(1234), 'POST /1234 HTTP/1.1\r\nContent-Length: 5\r\n\r\n1234é')
  assert.equal(request.bodyBytes, 5)
})

test('a request without fields is serialised once', () => {
  const request = new OutgoingRequest({ head: 'GET /{{seq}} HTTP/1.1', body: undefined, isHead: false }, undefined)
  assert.equal(request.bytes(1), request.bytes(2))
  assert.match(Buffer.from(request.bytes(1)).toString(), /^GET \/\{\{seq\}\} /)
})
