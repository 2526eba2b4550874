/** Prebuilt responses, tested without a server. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { OwnAnswers, retryAfter, type ShedAnswerOptions } from '../../../src/server/response/own-answers.ts'

const DATE = 'Sun, 22 Nov 2026 12:00:00 GMT'
const OPTIONS: ShedAnswerOptions = {
  retryAfterS: [3, 5],
  headers: { 'access-control-allow-origin': 'https://shop.example', 'strict-transport-security': 'max-age=60' },
  body: { type: 'text/plain', text: 'später 🫠' },
  page: '<p>später</p>',
  pressure: () => 1,
}
const answers = new OwnAnswers(OPTIONS)
const KINDS = [false, true].flatMap(page =>
  [false, true].flatMap(head => [false, true].map(keepAlive => ({ preflight: false, page, head, keepAlive }))),
)

function parse(message: string): {
  readonly start: string
  readonly fields: Map<string, string>
  readonly body: string
} {
  const end = message.indexOf('\r\n\r\n')
  const [start = '', ...lines] = message.slice(0, end).split('\r\n')
  const fields = new Map(lines.map(line => line.split(': ', 2) as [string, string]))
  return { start, fields, body: Buffer.from(message.slice(end + 4), 'latin1').toString('utf8') }
}

describe('the message of a shed', () => {
  for (const kind of KINDS) {
    it(`has its length, its body and its connection headers: ${JSON.stringify(kind)}`, () => {
      const { start, fields, body } = parse(answers.message(kind, DATE, 5000))
      const text = kind.page ? '<p>später</p>' : 'später 🫠'
      assert.equal(start, 'HTTP/1.1 503 Service Unavailable')
      assert.equal(fields.get('content-length'), String(Buffer.byteLength(text)))
      assert.equal(fields.get('connection'), kind.keepAlive ? 'keep-alive' : 'close')
      assert.equal(fields.get('keep-alive'), kind.keepAlive ? 'timeout=5' : undefined)
      assert.equal(fields.get('date'), DATE)
      assert.equal(fields.get('x-envoy-ratelimited'), 'true')
      for (const [name, value] of Object.entries(OPTIONS.headers)) assert.equal(fields.get(name), value)
      assert.equal(body, kind.head ? '' : text)
      assert.equal(Buffer.byteLength(body), answers.bodyBytes(kind))
    })
  }

  for (const [pressure, expected] of [
    [0, [1, 2, 3]],
    [0.5, [1, 2, 3]],
    [0.75, [2, 3, 4]],
    [1, [3, 4, 5]],
  ] as const) {
    it(`spreads Retry-After over half of its range: ${expected} at pressure ${pressure}`, () => {
      const spread = new OwnAnswers({ ...OPTIONS, retryAfterS: [1, 5], pressure: () => pressure })
      const seen = new Set<number>()
      const kind = { preflight: false, page: false, head: false, keepAlive: true }
      for (let i = 0; i < 300; i++) seen.add(Number(parse(spread.message(kind, DATE, 0)).fields.get('retry-after')))
      assert.deepEqual([...seen].sort(), expected)
    })
  }

  for (const keepAlive of [false, true]) {
    it(`has only the configured headers for a preflight, keep-alive ${keepAlive}`, () => {
      const kind = { preflight: true, page: false, head: false, keepAlive }
      const { start, fields, body } = parse(answers.message(kind, DATE, 5000))
      assert.equal(start, 'HTTP/1.1 204 No Content')
      const connection = keepAlive ? { connection: 'keep-alive', 'keep-alive': 'timeout=5' } : { connection: 'close' }
      assert.deepEqual(Object.fromEntries(fields), { ...OPTIONS.headers, date: DATE, ...connection })
      assert.equal(body, '')
      assert.equal(answers.bodyBytes(kind), 0)
    })
  }

  // Half of an odd range and a pressure between two seconds are rounded up, so that clients return later, not sooner.
  for (const [pressure, expected] of [
    [0, [1, 2, 3]],
    [0.8, [2, 3, 4]],
    [1, [2, 3, 4]],
  ] as const) {
    it(`spreads Retry-After over at least half of an odd range: ${expected} at pressure ${pressure}`, () => {
      const seen = new Set<number>()
      for (let i = 0; i < 300; i++) seen.add(retryAfter([1, 4], pressure))
      assert.deepEqual([...seen].sort(), expected)
    })
  }

  it('has a fixed Retry-After if the range is one number', () => {
    for (const pressure of [0, 0.7, 1]) assert.equal(retryAfter([7, 7], pressure), 7)
  })

  it('changes with the date and the keep-alive timeout', () => {
    const kind = { preflight: false, page: false, head: true, keepAlive: true }
    const later = DATE.replace('12:00:00', '12:00:01')
    assert.equal(parse(answers.message(kind, later, 5000)).fields.get('date'), later)
    assert.equal(parse(answers.message(kind, later, 7000)).fields.get('keep-alive'), 'timeout=7')
    assert.equal(parse(answers.message(kind, later, 0)).fields.get('keep-alive'), undefined)
  })
})
