/** OpenMetrics 1.0 (https://github.com/prometheus/OpenMetrics): which scrapers get it, its text and its exemplars. */
import assert from 'node:assert/strict'
import http from 'node:http'
import { describe, it, test } from 'node:test'
import { Registry } from 'prom-client'
import { sheds } from '../../src/channels.ts'
import { Exemplars, SampledSeries } from '../../src/observe/instruments.ts'
import { openMetricsText, prefersOpenMetrics } from '../../src/observe/scrape.ts'
import { metrics } from '../../src/observe/prometheus.ts'
import { protect } from '../../src/server/protect.ts'
import { eventually, listen } from '../server/harness.ts'

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const OTHER_TRACE = '11111111111111111111111111111111'
const sampled = (id: string) => ({ headers: { traceparent: `00-${id}-b7ad6b7169203331-01` } })
const unsampled = { headers: { traceparent: `00-${TRACE}-b7ad6b7169203331-00` } }

describe('prefersOpenMetrics()', () => {
  for (const [accept, expected] of [
    // Prometheus 2.42 and 3.
    [
      'application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1',
      true,
    ],
    [
      'application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,text/plain;version=0.0.4;q=0.4,*/*;q=0.2',
      true,
    ],
    ['application/openmetrics-text; version="1.0.0"; charset=utf-8', true],
    ['application/openmetrics-text', true],
    ['application/openmetrics-text;q=0.3, text/plain', false],
    ['application/openmetrics-text;version=0.0.1', false],
    ['application/openmetrics-text;q=0', false],
    ['application/openmetrics-text;q=nonsense', false],
    ['text/html,*/*', false],
    [';;=,;', false],
    [undefined, false],
  ] as const) {
    it(`is ${expected} for Accept: ${accept}`, () => assert.equal(prefersOpenMetrics(accept), expected))
  }
})

describe('an exemplar', () => {
  it('is a sampled trace, one per bucket, replaced after a second', () => {
    const exemplars = new Exemplars(2)
    const at = (bucket: number) => exemplars.byBucket[bucket]
    exemplars.offer(0, 0.1, 5000, { headers: {} })
    assert.equal(at(0), undefined)
    exemplars.offer(0, 0.1, 5010, unsampled)
    assert.equal(at(0), undefined)
    exemplars.offer(0, 0.2, 5020, sampled(TRACE))
    exemplars.offer(0, 0.3, 6010, sampled(OTHER_TRACE))
    const { traceId, value } = at(0)!
    assert.deepEqual([traceId, value, at(1)], [TRACE, 0.2, undefined])
    exemplars.offer(0, 0.3, 6020, sampled(OTHER_TRACE))
    assert.equal(at(0)?.traceId, OTHER_TRACE)
  })

  it('reads the headers of at most 1 % of the requests while none is traced', () => {
    const exemplars = new Exemplars(1)
    let asked = 0
    const request = {
      get headers() {
        asked++
        return {}
      },
    }
    for (let i = 1; i <= 10_000; i++) exemplars.offer(0, 0.1, i / 10, request)
    assert.ok(asked <= 100, `${asked} of 10,000 in a second`)
  })
})

/** A line in the ABNF of section 4.1, limited to what meltproof writes: metadata, samples, exemplars. */
const LINE =
  /^(?:# (?:HELP [a-z_:][\w:]* (?:[^\\"\n]|\\[\\"n])*|TYPE [a-z_:][\w:]* (?:counter|gauge|histogram)|EOF)|[a-z_:][\w:]*(?:\{(?:[a-z_]\w*="(?:[^\\"\n]|\\[\\"n])*",?)*\})? (?:-?\d+(?:\.\d+)?(?:e[+-]?\d+)?|NaN|[+-]Inf)(?: # \{trace_id="[\da-f]{32}"\} \d+(?:\.\d+)?(?:e[+-]?\d+)? \d+\.\d{3})?)$/

test('the OpenMetrics text has types without _total, bounds with a decimal point, and an EOF', () => {
  const counter = new SampledSeries({ a: 'quo"te\n\\' })
  counter.add(3, 1)
  const histogram = new SampledSeries({}, [0.5, 1], true)
  const beforeS = Date.now() / 1000
  histogram.add(0.75, 1, 1000, sampled(TRACE))
  const described = { help: 'What "it" is', aggregator: 'sum' } as const
  const text = openMetricsText([
    { ...described, name: 'c_total', type: 'counter', samples: () => counter.samples() },
    { ...described, name: 'h', type: 'histogram', samples: () => histogram.samples() },
  ])
  const at = Number(/ (\S+)\nh_bucket\{le="\+Inf"/.exec(text)![1])
  assert.ok(Math.abs(at - beforeS) < 60, `${at} is now`)
  assert.equal(
    text,
    [
      '# HELP c What \\"it\\" is',
      '# TYPE c counter',
      'c_total{a="quo\\"te\\n\\\\"} 3',
      '# HELP h What \\"it\\" is',
      '# TYPE h histogram',
      'h_bucket{le="0.5"} 0',
      `h_bucket{le="1.0"} 1 # {trace_id="${TRACE}"} 0.75 ${at.toFixed(3)}`,
      'h_bucket{le="+Inf"} 1',
      'h_sum 0.75',
      'h_count 1',
      '# EOF',
      '',
    ].join('\n'),
  )
})

async function scrape(port: number, accept: string): Promise<{ type: string | null; text: string }> {
  const answer = await fetch(`http://127.0.0.1:${port}/metrics`, { headers: { accept } })
  return { type: answer.headers.get('content-type'), text: await answer.text() }
}

test('a scraper that accepts OpenMetrics gets exemplars of requests and sheds, others the classic text', async () => {
  const server = http.createServer((_, response) => response.end())
  const guard = protect(server)
  const register = new Registry<typeof Registry.OPENMETRICS_CONTENT_TYPE>()
  register.setContentType(Registry.OPENMETRICS_CONTENT_TYPE)
  const handler = metrics(guard, { register })
  const { port } = await listen(server)
  await fetch(`http://127.0.0.1:${port}/`, sampled(TRACE)).then(answer => answer.text())
  const record = { atMs: performance.now(), reason: 'full', method: 'GET', waitedMs: 0, bytes: 0, count: 1 }
  sheds.publish({ record, guard, server, request: { ...sampled(OTHER_TRACE), method: 'GET' } as never })
  const counted = 'http_server_request_duration_seconds_count{http_request_method="GET",url_scheme="http",'
  await eventually('both', () => handler.text().split(counted).length === 3)
  const { port: scrapePort } = await listen(http.createServer(handler))
  const { type, text } = await scrape(scrapePort, 'application/openmetrics-text')
  assert.equal(type, 'application/openmetrics-text; version=1.0.0; charset=utf-8')
  for (const line of text.slice(0, -1).split('\n')) assert.match(line, LINE)
  assert.equal(text.split(`# {trace_id="${TRACE}"}`).length, 2)
  assert.match(
    text,
    new RegExp(`status_code="503",error_type="shed",http_route="",le="0.005"} 1 # {trace_id="${OTHER_TRACE}"} 0 `),
  )
  assert.match(text, /^meltproof_admitted_total 1$/m)
  const classic = await scrape(scrapePort, 'text/plain')
  assert.equal(classic.type, 'text/plain; version=0.0.4; charset=utf-8')
  assert.ok(!classic.text.includes('trace_id') && classic.text.includes('le="1"'))
  const theirs = await register.metrics()
  assert.match(theirs, /^meltproof_admitted_total 1$/m, 'prom-client, set to OpenMetrics')
  assert.ok(theirs.includes(`trace_id="${TRACE}"`))
  handler.close()
})
