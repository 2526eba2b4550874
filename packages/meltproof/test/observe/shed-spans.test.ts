/** The number of sheds that one span stands for, on a clock that the test moves. */
import assert from 'node:assert/strict'
import http, { type IncomingMessage } from 'node:http'
import { performance } from 'node:perf_hooks'
import { after, test } from 'node:test'
import * as api from '@opentelemetry/api'
import { InMemorySpanExporter, NodeTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-node'
import { sheds } from '../../src/channels.ts'
import { spansOfSheds } from '../../src/observe/shed-spans.ts'
import type { ShedRecord } from '../../src/record.ts'

const exporter = new InMemorySpanExporter()
const tracers = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
tracers.register()
after(() => tracers.shutdown())

test('a span counts every shed of its guard since the last span', t => {
  let nowMs = 1_000_000
  t.mock.method(performance, 'now', () => nowMs)
  const guard = {}
  const server = http.createServer()
  const stop = spansOfSheds(api, guard)
  const shed = (count: number, { alone = true, of = guard } = {}): void => {
    const record = { method: 'GET', reason: 'full', waitedMs: 0, count } as ShedRecord
    const request = alone ? ({ url: '/', headers: {} } as IncomingMessage) : undefined
    sheds.publish({ record, guard: of, server, request })
  }
  const counts = (): unknown[] => exporter.getFinishedSpans().map(({ attributes }) => attributes['meltproof.count'])

  shed(3)
  assert.deepEqual(counts(), [3])
  shed(1)
  shed(40, { alone: false })
  shed(500, { of: {} })
  nowMs += 999
  shed(2)
  assert.deepEqual(counts(), [3])
  nowMs += 1
  shed(7, { alone: false })
  assert.deepEqual(counts(), [3], 'one without a request has no span')
  shed(1)
  assert.deepEqual(counts(), [3, 1 + 40 + 2 + 7 + 1])
  nowMs += 1_000
  shed(5)
  assert.deepEqual(counts(), [3, 51, 5])
  stop()
  nowMs += 1_000
  shed(1)
  assert.deepEqual(counts(), [3, 51, 5])
})
