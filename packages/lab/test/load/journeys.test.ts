/** Journeys on a fake clock: due times, ends of journeys, and totals that add up in every case. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { AnswerParts } from '../../src/load/answer-parts.ts'
import { Journeys } from '../../src/load/journeys.ts'
import type { JourneyRun } from '../../src/load/arrival-source.ts'
import type { Extraction, JourneyStep } from '../../src/load/plan.ts'
import { ResponseParser } from '../../src/load/response-parser.ts'

const arrival = {
  kind: 'open',
  schedule: { phases: [{ kind: 'constant', rate: 10, durationMs: 1000 }], spacing: 'even', seed: 1 },
} as const
const step = (thinkMs: number, extract: readonly Extraction[] = []): JourneyStep => ({
  name: 'a step',
  thinkMs,
  extract,
})
const journeysOf = (steps: readonly JourneyStep[], atOnce = 100, worker = 0, workers = 1) =>
  new Journeys({ arrival, journey: { steps, atOnce } }, worker, workers)
const end = (journeys: Journeys, run: JourneyRun, atMs: number, how: number | 'reset'): void =>
  journeys.ended(atMs, true, 0, how, 0, run)

describe('Journeys', () => {
  it('schedule the next step of a journey its think time after the last response, in order of time', () => {
    const journeys = journeysOf([step(0), step(30), step(500)])
    assert.equal(journeys.peek(), 50)
    const first = journeys.take()
    end(journeys, first, 60, 200)
    assert.equal(journeys.peek(), 90)
    assert.equal(journeys.take(), first)
    assert.equal(journeys.peek(), 150, 'nothing of the first is due before it is answered')
    const second = journeys.take()
    assert.deepEqual([second.number, second.step], [1, 0])
    end(journeys, first, 200, 302)
    assert.equal(journeys.peek(), 250)
    end(journeys, second, 210, 'reset')
    const { failedAt, cut, completed } = journeys.data()
    assert.deepEqual([failedAt, cut, completed], [[1, 0, 0], 1, 0])
  })

  it('divide arrivals, journey numbers and the atOnce limit among workers', () => {
    const numbers = [0, 1].flatMap(worker => {
      const journeys = journeysOf([step(0)], 3, worker, 2)
      const runs = Array.from({ length: 5 }, () => journeys.take())
      assert.equal(journeys.peek(), Number.POSITIVE_INFINITY)
      assert.equal(runs.filter(({ refused }) => !refused).length, worker === 0 ? 2 : 1)
      return runs.map(({ number }) => number)
    })
    assert.deepEqual(numbers.toSorted(), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
  })

  it('count every journey exactly once, in any order of responses', () => {
    const act = fc.record({
      take: fc.boolean(),
      which: fc.nat(5),
      how: fc.constantFrom(200, 404, 503, 'reset' as const),
    })
    fc.assert(
      fc.property(fc.array(act, { maxLength: 80 }), fc.integer({ min: 1, max: 4 }), (acts, atOnce) => {
        const journeys = journeysOf([step(0), step(5), step(0)], atOnce)
        const open: JourneyRun[] = []
        let now = 0
        for (const { take, which, how } of acts) {
          if (take && Number.isFinite(journeys.peek())) {
            now = Math.max(now, journeys.peek())
            const run = journeys.take()
            if (!run.refused) open.push(run)
          } else if (open.length > 0) {
            end(journeys, open.splice(which % open.length, 1)[0]!, now, how)
          }
          const { scheduled, completed, failedAt, notStarted, cut } = journeys.data()
          assert.equal(scheduled, completed + failedAt.reduce((a, b) => a + b, 0) + notStarted + cut)
          assert.ok(cut <= atOnce)
        }
      }),
    )
  })
})

describe('a value extracted from a response', () => {
  const read = (answer: string, at: Extraction, pieces = 7): string | undefined => {
    const parser = new ResponseParser()
    const parts = new AnswerParts()
    parser.start(false, parts)
    const bytes = Buffer.from(answer)
    const buffer = new Uint8Array(pieces)
    for (let from = 0; from < bytes.length; from += pieces) {
      const piece = bytes.subarray(from, from + pieces)
      buffer.set(piece)
      parser.read(buffer, 0, piece.length)
    }
    assert.ok(parser.complete, parser.fault)
    return parts.read(at)
  }
  const answer = (body: string, head = '') =>
    `HTTP/1.1 200 OK\r\n${head}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
  const json = (at: string): Extraction => ({ name: 'x', from: 'json', at })

  it('can be a JSON value, with the body in pieces or chunked', () => {
    const body = '{"a/b":{"~":["ü",7,true,null,{}]},"":1}'
    assert.equal(read(answer(body), json('/a~1b/~0/0')), 'ü')
    assert.equal(read(answer(body), json('/a~1b/~0/1')), '7')
    assert.equal(read(answer(body), json('/a~1b/~0/2')), 'true')
    assert.equal(read(answer(body), json('/')), '1')
    const chunked = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"a":\r\n4\r\n"b"}\r\n0\r\n\r\n'
    assert.equal(read(chunked, json('/a')), 'b')
  })

  it('is undefined if absent, not a scalar, unsafe in a header, or in a body that is not JSON or too long', () => {
    for (const pointer of ['/a~1b/~0/3', '/a~1b/~0/4', '/a~1b/~0/9', '/toString', '/a~1b/~0/length']) {
      assert.equal(read(answer('{"a/b":{"~":["ü",7,true,null,{}]}}'), json(pointer)), undefined, pointer)
    }
    assert.equal(read(answer('<html>'), json('/a')), undefined)
    assert.equal(read(answer('{"a":"b\\r\\nX: y"}'), json('/a')), undefined, 'it would begin another header')
    const long = `{"a":"b","c":"${'x'.repeat(262_144)}"}`
    assert.equal(read(answer(long), json('/a'), 4096), undefined)
  })

  it('can be a header, the last one of its name, or a cookie of the final response', () => {
    const head = 'X-Id:  7 \r\nx-id: 8\r\nSet-Cookie: sid=a=b; Path=/\r\nSet-Cookie: other=1\r\n'
    const early = 'HTTP/1.1 103 Early Hints\r\nX-Only: early\r\n\r\n'
    assert.equal(read(early + answer('', head), { name: 'x', from: 'header', at: 'X-ID' }), '8')
    assert.equal(read(early + answer('', head), { name: 'x', from: 'header', at: 'x-only' }), undefined)
    assert.equal(read(answer('', head), { name: 'x', from: 'cookie', at: 'sid' }), 'a=b')
    assert.equal(read(answer('', head), { name: 'x', from: 'cookie', at: 'SID' }), undefined)
  })
})
