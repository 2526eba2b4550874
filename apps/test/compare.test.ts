import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { type Answer, pairs } from '../runner/asking.ts'
import { comparable, differences, scrubbed } from '../runner/compare.ts'

const scrub = { port: 4321, kept: ['secret-token'], volatile: [/"rev":"[^"]+"/] }
const answer = (body: string | Buffer, headers: Answer['headers'] = [], status = 200): Answer => ({
  status,
  headers,
  body: Buffer.from(body),
})
const between = (bare: Answer, other: Answer): string[] =>
  differences(comparable(bare, scrub), comparable(other, scrub))

test('equal responses compare as equal, whatever their date and connection headers', () => {
  const bare = answer('yes', [
    ['Date', 'Sun, 22 Nov 2026 10:00:00 GMT'],
    ['Connection', 'keep-alive'],
    ['Keep-Alive', 'timeout=5'],
    ['X-One', '1'],
  ])
  const other = answer('yes', [
    ['X-One', '1'],
    ['Date', 'Sun, 22 Nov 2026 11:00:00 GMT'],
    ['Connection', 'close'],
  ])
  assert.deepEqual(between(bare, other), [])
})

test('a different status, header or body is reported', () => {
  assert.match(between(answer('a'), answer('a', [], 503)).join(), /status 503 instead of 200/)
  assert.match(between(answer('a', [['X-One', '1']]), answer('a')).join(), /without X-One: 1/)
  assert.match(between(answer('a'), answer('a', [['Retry-After', '1']])).join(), /with Retry-After: 1/)
  assert.match(between(answer('one thing'), answer('one thong')).join(), /character 6.*thong.*thing/)
})

test('a repeated header differs from a single one, and header names are case-sensitive', () => {
  const cookies = answer('a', pairs(['Set-Cookie', 'a=1', 'Set-Cookie', 'a=1']))
  assert.notDeepEqual(between(cookies, answer('a', [['Set-Cookie', 'a=1']])), [])
  assert.notDeepEqual(between(answer('a', [['x-one', '1']]), answer('a', [['X-One', '1']])), [])
})

test('ids, times, ports, saved values and volatile parts may differ, and lengths with them', () => {
  const one = `at 2026-11-22T10:00:00.123Z 127.0.0.1:4321 6a2f41a3-c54c-fce8-32d2-0324e1c32e22 secret-token "rev":"1-a"`
  const two = `at 2026-11-22T10:00:09Z 127.0.0.1:4321 00000000-c54c-fce8-32d2-0324e1c32e22 secret-token "rev":"1-abc"`
  const headers = (text: string): Answer['headers'] => [
    ['Content-Length', `${text.length}`],
    ['ETag', `"${text.length}"`],
  ]
  assert.deepEqual(between(answer(one, headers(one)), answer(two, headers(two))), [])
  assert.equal(scrubbed('secret-token at :4321', scrub), 'KEPT at :PORT')
})

test('a different length is reported if nothing in the body may differ', () => {
  const bare = answer('a', [['Content-Length', '1']])
  assert.match(
    between(bare, answer('a', [['Transfer-Encoding', 'chunked']])).join('; '),
    /without Content-Length: 1; with/,
  )
})

test('compressed bodies are compared decompressed, and binary ones by their hash', () => {
  const packed = (text: string): Answer => answer(gzipSync(text), [['Content-Encoding', 'gzip']])
  assert.deepEqual(between(packed('on :4321'), packed('on :4321')), [])
  assert.match(between(packed('this'), packed('that')).join(), /that.*this/)
  const bytes = (last: number): Answer => answer(Buffer.from([0xff, 0xfe, last]))
  assert.deepEqual(between(bytes(1), bytes(1)), [])
  assert.match(between(bytes(1), bytes(2)).join(), /sha256/)
})
