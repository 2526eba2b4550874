/** The messages that are made ready beforehand, without a server. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { OwnAnswers } from '../../../src/server/response/own-answers.ts'

const DATE = 'Sun, 22 Nov 2026 12:00:00 GMT'
const answers = new OwnAnswers({
  retryAfterS: [3, 5],
  body: { type: 'text/plain', text: 'später 🫠' },
  page: '<p>später</p>',
})
const KINDS = [false, true].flatMap(page =>
  [false, true].flatMap(head => [false, true].map(keepAlive => ({ page, head, keepAlive }))),
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
    it(`has its length, its body and what becomes of the connection: ${JSON.stringify(kind)}`, () => {
      const { start, fields, body } = parse(answers.message(kind, DATE, 5000))
      const text = kind.page ? '<p>später</p>' : 'später 🫠'
      assert.equal(start, 'HTTP/1.1 503 Service Unavailable')
      assert.equal(fields.get('content-length'), String(Buffer.byteLength(text)))
      assert.equal(fields.get('connection'), kind.keepAlive ? 'keep-alive' : 'close')
      assert.equal(fields.get('keep-alive'), kind.keepAlive ? 'timeout=5' : undefined)
      assert.equal(fields.get('date'), DATE)
      assert.equal(body, kind.head ? '' : text)
      assert.equal(Buffer.byteLength(body), answers.bodyBytes(kind))
    })
  }

  it('spreads Retry-After over its range, ends included', () => {
    const seen = new Set<number>()
    const kind = { page: false, head: false, keepAlive: true }
    for (let i = 0; i < 300; i++) seen.add(Number(parse(answers.message(kind, DATE, 0)).fields.get('retry-after')))
    assert.deepEqual([...seen].sort(), [3, 4, 5])
  })

  it('changes with the date and with how long connections are kept', () => {
    const kind = { page: false, head: true, keepAlive: true }
    const later = DATE.replace('12:00:00', '12:00:01')
    assert.equal(parse(answers.message(kind, later, 5000)).fields.get('date'), later)
    assert.equal(parse(answers.message(kind, later, 7000)).fields.get('keep-alive'), 'timeout=7')
    assert.equal(parse(answers.message(kind, later, 0)).fields.get('keep-alive'), undefined)
  })
})
