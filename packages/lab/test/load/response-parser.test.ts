import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { ResponseParser } from '../../src/load/response-parser.ts'

interface Verdict {
  readonly status: number
  readonly complete: boolean
  readonly failed: boolean
  readonly reusable: boolean
  /** Bytes after the end of the response. */
  readonly extra: number
}

/** Feeds the pieces in order, and then the end if the peer closes. */
const parse = (pieces: readonly Uint8Array[], { head = false, ends = false } = {}): Verdict => {
  const parser = new ResponseParser()
  parser.start(head)
  let given = 0
  let taken = 0
  for (const piece of pieces) {
    given += piece.length
    if (!parser.complete && !parser.failed) taken += parser.read(piece, 0, piece.length)
  }
  if (ends) parser.end()
  const { status, complete, failed } = parser
  return { status, complete, failed, reusable: complete && parser.reusable, extra: complete ? given - taken : 0 }
}

const bytes = (text: string): Uint8Array => Buffer.from(text, 'latin1')
const one = (text: string, options = {}): Verdict => parse([bytes(text)], options)

const COMPLETE: readonly [name: string, text: string, status: number, reusable: boolean, options?: object][] = [
  ['Content-Length', 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello', 200, true],
  ['Content-Length: 0', 'HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n', 503, true],
  ['the same Content-Length twice', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok', 200, true],
  ['no reason phrase', 'HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n', 200, true],
  [
    'chunked',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nA;x=y\r\n0123456789\r\n0\r\n\r\n',
    200,
    true,
  ],
  [
    'chunked, with trailers',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, Chunked\r\n\r\n1\r\n\n\r\n000\r\nExpires: never\r\n\r\n',
    200,
    true,
  ],
  ['204', 'HTTP/1.1 204 No Content\r\n\r\n', 204, true],
  ['304 with a Content-Length', 'HTTP/1.1 304 Not Modified\r\nContent-Length: 99\r\n\r\n', 304, true],
  ['HEAD', 'HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n', 200, true, { head: true }],
  ['HEAD, chunked', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n', 200, true, { head: true }],
  ['connection: close', 'HTTP/1.1 200 OK\r\nConnection: Close\r\nContent-Length: 2\r\n\r\nok', 200, false],
  [
    'close in a list of connection options',
    'HTTP/1.1 200 OK\r\nConnection: foo ,\t close\r\nContent-Length: 2\r\n\r\nok',
    200,
    false,
  ],
  ['a body that ends with the connection', 'HTTP/1.1 200 OK\r\n\r\nwhatever comes', 200, false, { ends: true }],
  [
    'an unchunked transfer coding that ends with the connection',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n..',
    200,
    false,
    { ends: true },
  ],
  ['HTTP/1.0', 'HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok', 200, false],
  ['HTTP/1.0 keep-alive', 'HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok', 200, true],
  [
    '100 Continue before the final response',
    'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n',
    201,
    true,
  ],
  [
    '103 Early Hints twice before the final response',
    'HTTP/1.1 103 E\r\nLink: a\r\n\r\nHTTP/1.1 103 E\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx',
    200,
    true,
  ],
  ['101 Switching Protocols', 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n', 101, false],
]

const BROKEN: readonly [name: string, text: string][] = [
  ['another protocol', 'SSH-2.0-OpenSSH_9.2\r\n'],
  ['an HTTP/2.0 status line', 'HTTP/2.0 200 OK\r\n\r\n'],
  ['http in lower case', 'http/1.1 200 OK\r\n\r\n'],
  ['a status of two digits', 'HTTP/1.1 20 OK\r\n\r\n'],
  ['a status of four digits', 'HTTP/1.1 2000 OK\r\n\r\n'],
  ['a status below 100', 'HTTP/1.1 099 No\r\n\r\n'],
  ['bare LF', 'HTTP/1.1 200 OK\nContent-Length: 0\n\n'],
  ['a folded header', 'HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n'],
  ['a space before the colon', 'HTTP/1.1 200 OK\r\nContent-Length : 0\r\n\r\n'],
  ['a header without colon', 'HTTP/1.1 200 OK\r\nnonsense\r\n\r\n'],
  ['a header without name', 'HTTP/1.1 200 OK\r\n: x\r\n\r\n'],
  ['a NUL in a header', 'HTTP/1.1 200 OK\r\nA: \0\r\n\r\n'],
  ['different Content-Lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok'],
  ['a negative Content-Length', 'HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n'],
  ['an empty Content-Length', 'HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n'],
  ['a Content-Length above the safe integers', 'HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n'],
  ['Content-Length and chunked', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
  ['chunked not as the last transfer coding', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n'],
  ['a chunk without size', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\n'],
  ['a chunk size that is not hexadecimal', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n'],
  ['a huge chunk', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffff\r\n'],
  ['a chunk longer than its size', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n'],
  ['an endless header line', `HTTP/1.1 200 OK\r\nA: ${'x'.repeat(70_000)}`],
  ['endless headers', `HTTP/1.1 200 OK\r\n${'A: b\r\n'.repeat(50_000)}`],
]

describe('ResponseParser', () => {
  for (const [name, text, status, reusable, options] of COMPLETE) {
    it(`parses a complete response: ${name}`, () => {
      assert.deepEqual(one(text, options), { status, complete: true, failed: false, reusable, extra: 0 })
    })
  }

  for (const [name, text] of BROKEN) {
    it(`rejects an invalid response: ${name}`, () => {
      const verdict = one(text)
      assert.equal(verdict.failed, true)
      assert.equal(verdict.complete, false)
    })
  }

  it('is incomplete, but not failed, if a valid response is cut anywhere before its end', () => {
    for (const [, text, , , options] of COMPLETE) {
      if (options !== undefined) continue
      for (let cut = 0; cut < text.length; cut++) {
        const verdict = one(text.slice(0, cut), { ends: true })
        assert.equal(verdict.complete, false, JSON.stringify(text.slice(0, cut)))
        assert.equal(verdict.failed, false, JSON.stringify(text.slice(0, cut)))
      }
    }
  })

  it('does not consume bytes after the end of the response', () => {
    assert.equal(one('HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 200 OK\r\n').extra, 17)
  })

  it('gives the same result wherever the bytes are split', () => {
    const texts = [
      ...COMPLETE.map(([, text, , , options]) => ({ text, options })),
      ...BROKEN.map(([, text]) => ({ text, options: {} })),
    ]
    fc.assert(
      fc.property(
        fc.constantFrom(...texts),
        fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 12 }),
        fc.string({ maxLength: 5 }),
        ({ text, options }, cuts, tail) => {
          const whole = bytes(text + tail)
          const at = [0, ...cuts.map(cut => Math.floor(cut * Math.min(whole.length, 300))), whole.length].sort(
            (a, b) => a - b,
          )
          const pieces = at.slice(1).map((end, k) => whole.subarray(at[k], end))
          assert.deepEqual(parse(pieces, options), parse([whole], options))
        },
      ),
      { numRuns: 1000 },
    )
  })

  it('gives the same result for one byte at a time', () => {
    for (const [, text, , , options] of COMPLETE) {
      const single = [...bytes(text)].map(byte => Uint8Array.of(byte))
      assert.deepEqual(parse(single, options), one(text, options))
    }
  })

  it('never throws, whatever bytes it reads', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), fc.boolean(), (noise, head) => void parse([noise], { head })),
    )
  })
})

describe('further properties of a parsed response', () => {
  const read = (text: string, pieces = 1): ResponseParser => {
    const parser = new ResponseParser()
    parser.start(false)
    const all = bytes(text)
    const size = Math.ceil(all.length / pieces)
    for (let at = 0; at < all.length; at += size)
      parser.read(all.subarray(at, at + size), 0, Math.min(size, all.length - at))
    return parser
  }

  it('include the timeout of the Keep-Alive header, or Infinity without a valid one', () => {
    const kept = (value: string): number =>
      read(`HTTP/1.1 200 OK\r\nKeep-Alive: ${value}\r\nContent-Length: 0\r\n\r\n`).keptMs
    assert.equal(kept('timeout=5'), 5000)
    assert.equal(kept('max=100, Timeout=15'), 15_000)
    assert.equal(kept('timeout=0'), 0)
    for (const nothing of ['', 'timeout', 'timeout=', 'timeout=-1', 'timeout=5s', 'timeouts=5']) {
      assert.equal(kept(nothing), Number.POSITIVE_INFINITY, nothing)
    }
  })

  it('are reset for the next response', () => {
    const parser = read('HTTP/1.1 200 OK\r\nKeep-Alive: timeout=5\r\nContent-Length: 2\r\n\r\nok')
    parser.start(false)
    assert.equal(parser.keptMs, Number.POSITIVE_INFINITY)
    assert.equal(parser.bodyBytes, 0)
  })

  it('include the length of its body, for any framing and any pieces', () => {
    for (const pieces of [1, 3, 1000]) {
      assert.equal(read('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello', pieces).bodyBytes, 5)
      assert.equal(read('HTTP/1.1 200 OK\r\n\r\nhello', pieces).bodyBytes, 5)
      const chunks = '5\r\nhello\r\nA;x=y\r\n0123456789\r\n0\r\nX: y\r\n\r\n'
      assert.equal(read(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}`, pieces).bodyBytes, 15)
    }
  })
})
