/**
 * Results of other tools. The samples are real: k6 1.8.1, vegeta 12.13.0 and autocannon 8 against one server that answers
 * each 25th request 503; those of one line a request are cut short.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { compare } from '../../src/compare/compare.ts'
import { foreignResultOf } from '../../src/compare/comparable.ts'
import type { ForeignResult } from '../../src/results/foreign/foreign-result.ts'
import { foreignText } from '../../src/results/foreign/text.ts'
import { readResult } from '../../src/results/read-result.ts'

const text = (name: string): string => readFileSync(new URL(`samples/${name}`, import.meta.url), 'utf8')
const read = (content: string): ForeignResult => {
  const result = readResult(content, 'a.json')
  assert.equal(result.kind, 'foreign')
  return (result as Extract<typeof result, { kind: 'foreign' }>).result
}
const sample = (name: string): ForeignResult => read(text(name))
const whole = ({ latencyMs, remarks: _remarks, load: _load, ...rest }: ForeignResult) => ({
  ...rest,
  durationMs: rest.durationMs && Math.round(rest.durationMs),
  latencyMs: Object.values(latencyMs).map(value => value && Math.round(value * 100) / 100),
})

test("k6's summary, in each of its three forms", () => {
  const said = {
    ...{ tool: 'k6', url: null, startedAt: null, requests: 81, unsent: null, answered: null, ok: 78, failed: null },
    latencyOf: 'answers 2xx and 3xx',
  }
  assert.deepEqual(whole(sample('k6-summary.json')), {
    ...said,
    ...{ durationMs: 2001, bytesRead: 11_016 },
    latencyMs: [0.35, 0.85, 0.62, 1, 1.29, 5.95, 7.71, 7.91],
  })
  const { latencyMs: handled, ...rest } = whole(sample('k6-handle-summary.json'))
  assert.deepEqual({ ...rest, bytesRead: 0 }, { ...said, durationMs: 2001, bytesRead: 0 })
  assert.ok(handled.every(value => value !== null))
  const { latencyMs, ...machine } = whole(sample('k6-machine-readable.json'))
  assert.deepEqual({ ...machine, bytesRead: 0 }, { ...said, durationMs: 2002, bytesRead: 0 })
  // It was made without p99 and p99.9, and nobody makes them up.
  assert.deepEqual(latencyMs, [0.34, 0.81, 0.57, 0.84, 1.92, null, null, 8.23])
})

test("k6's points, one a line", () => {
  assert.deepEqual(whole(sample('k6-points.ndjson')), {
    ...{ tool: 'k6', url: 'http://127.0.0.1:39999/', startedAt: '2026-11-23T09:35:52.411Z', durationMs: 1191 },
    ...{ requests: 49, unsent: null, answered: { 200: 47, 503: 2 }, ok: 47, failed: 0, bytesRead: null },
    latencyOf: 'answers 2xx and 3xx',
    latencyMs: whole(sample('k6-points.ndjson')).latencyMs,
  })
})

test("vegeta's report and results", () => {
  assert.deepEqual(whole(sample('vegeta-report.json')), {
    ...{ tool: 'vegeta', url: null, startedAt: '2026-11-23T09:35:55.071Z', durationMs: 1975, requests: 80 },
    ...{ unsent: null, answered: { 200: 77, 503: 3 }, ok: 77, failed: 0, bytesRead: 936 },
    latencyOf: 'all requests, failed ones too',
    latencyMs: [0.52, 1.3, 0.77, 2.31, 4.3, 10.93, null, 13.15],
  })
  const { answered, failed, url, bytesRead } = sample('vegeta-results.ndjson')
  assert.deepEqual([answered, failed, url, bytesRead], [{ 200: 29, 503: 1 }, 0, 'http://127.0.0.1:39999/', 352])
  const refused = '{"code":0,"timestamp":"2026-11-23T09:35:55Z","latency":5000000,"error":"refused"}\n'
  assert.deepEqual([read(refused).failed, read(refused).ok, read(refused).latencyMs.p50], [1, 0, null])
  assert.equal(read(refused + refused).failed, 2)
})

test("autocannon's result, and that it adds latencies", () => {
  const result = sample('autocannon.json')
  assert.deepEqual(whole(result), {
    ...{ tool: 'autocannon', url: 'http://127.0.0.1:39999/', startedAt: '2026-11-23T09:36:45.388Z', durationMs: 2020 },
    ...{ requests: 126, unsent: null, answered: { 200: 81, 503: 4 }, ok: 81, failed: 0, bytesRead: 11_583 },
    latencyOf: 'all answers, whatever their status',
    latencyMs: [1, 1.27, 0, 4, null, 7, 8, 8],
  })
  assert.match(result.remarks[1]!, /^Of its 120 latencies 35 are no request's/)
})

const SAMPLES = [
  ...['autocannon.json', 'k6-handle-summary.json', 'k6-machine-readable.json', 'k6-points.ndjson', 'k6-summary.json'],
  ...['vegeta-report.json', 'vegeta-results.ndjson'],
]

for (const name of SAMPLES) {
  test(`${name} as text fits 80 columns and names what is missing`, () => {
    const shown = foreignText(sample(name))
    assert.deepEqual(
      shown.split('\n').filter(line => line.length > 80),
      [],
    )
    assert.match(
      shown.replaceAll('\n', ' '),
      /Not said: .*goodput within an SLO, the plan, the machine, how late the tool itself was\. $/,
    )
    assert.doesNotMatch(shown, /null|undefined|NaN/)
  })

  test(`${name} cut off anywhere is refused in a sentence, or is what was there before`, () => {
    const content = text(name)
    for (let at = 1; at < content.length; at += Math.ceil(content.length / 40)) {
      try {
        read(content.slice(0, at))
      } catch (error) {
        assert.equal((error as Error).name, 'UserError')
      }
    }
  })
}

test('nothing is invented: what has the form and none of the figures says none', () => {
  const { latencyMs, ok, failed, durationMs, bytesRead } = read('{"metrics":{"http_reqs":{"count":5}}}')
  assert.deepEqual([ok, failed, durationMs, bytesRead], [null, null, null, null])
  assert.ok(Object.values(latencyMs).every(value => value === null))
  assert.match(foreignText(read('{"metrics":{"http_reqs":{"count":5}}}')), /^requests sent +5$/m)
})

for (const content of ['{}', '[1]', '{"metrics":{}}', '{"a":1}\n{"b":2}\n', '{"latencies":{}}', 'null']) {
  test(`${JSON.stringify(content)} is no result`, () => {
    assert.throws(() => readResult(content, 'a.json'), {
      name: 'UserError',
      message: /^a\.json is no result that meltlab knows/,
    })
  })
}

const side = (name: string, sampleName: string) => ({
  name,
  results: [foreignResultOf(name, sample(sampleName), sampleName)],
})

test('two results of one tool are put side by side; those of two tools are refused', () => {
  const { figures, remarks } = compare(side('A', 'k6-summary.json'), side('B', 'k6-handle-summary.json'))
  assert.ok(figures.every(({ verdict }) => verdict === 'cannot tell'))
  assert.equal(figures[0]!.a, null)
  assert.match(remarks.join(' '), /do not say on which machine/)
  assert.throws(() => compare(side('A', 'k6-summary.json'), side('B', 'autocannon.json')), {
    message:
      /^these results can not be compared: they were measured by k6 and autocannon, which measure differently\. /,
  })
  assert.throws(() => compare(side('A', 'vegeta-report.json'), side('B', 'vegeta-results.ndjson')), {
    message: /latencies of all requests, failed ones too are not those of answers 2xx and 3xx\. /,
  })
})

for (const [what, name, change, sentence] of [
  ['length', 'vegeta-report.json', { duration: 9e9 }, /the duration in ms is 1974\.704308 in A, 9000 in B\. /],
  ['rate', 'vegeta-report.json', { rate: 80 }, /the rate per second is 40\.5\d+ in A, 80 in B\. /],
  ['path', 'autocannon.json', { url: 'http://127.0.0.1:1/b' }, /the path is \/ in A, \/b in B\. /],
  [
    'number of connections',
    'autocannon.json',
    { connections: 99 },
    /the number of connections is \d+ in A, 99 in B\. /,
  ],
] as const) {
  test(`results of ${name} with another ${what} are refused`, () => {
    const b = JSON.stringify({ ...JSON.parse(text(name)), ...change })
    assert.throws(() => compare(side('A', name), { name: 'B', results: [foreignResultOf('B', read(b), 'b')] }), {
      message: sentence,
    })
  })
}

test('autocannon without an answer has no latency', () => {
  const { requests, ...rest } = JSON.parse(text('autocannon.json'))
  const { latencyMs } = read(JSON.stringify({ ...rest, requests: { ...requests, total: 0 }, statusCodeStats: {} }))
  assert.ok(Object.values(latencyMs).every(value => value === null))
})

test('how a tool measures is said where its results are compared', () => {
  const again = { ...JSON.parse(text('autocannon.json')), start: '2026-11-23T10:00:00Z' }
  const b = { name: 'B', results: [foreignResultOf('B', read(JSON.stringify(again)), 'b')] }
  assert.match(compare(side('A', 'autocannon.json'), b).remarks.join(' '), /in whole milliseconds/)
})

test('the same file on both sides is refused', () => {
  assert.throws(() => compare(side('A', 'k6-summary.json'), side('B', 'k6-summary.json')), {
    message: 'A and B hold the same run, which does not differ from itself; give results of two runs',
  })
})

const POINT = text('k6-points.ndjson')
  .split('\n')
  .find(line => line.includes('"metric":"http_req_duration"') && line.includes('"Point"'))!
const METRIC = '{"type":"Metric","metric":"http_reqs","data":{}}'
for (const [what, content, sentence] of [
  [
    'a negative count',
    '{"metrics":{"http_reqs":{"count":-5}}}',
    /^a\.json is damaged: count must be a number of at least 0, got -5; take the file as the tool wrote it$/,
  ],
  [
    'a count that is a text',
    '{"metrics":{"http_reqs":{"count":"5"}}}',
    /count must be a number of at least 0, got "5"; /,
  ],
  [
    'a count beyond all numbers',
    '{"metrics":{"http_reqs":{"count":1e999}}}',
    /count must be a number of at least 0, got null; /,
  ],
  [
    'more failed than sent',
    '{"metrics":{"http_reqs":{"count":5},"http_req_failed":{"passes":6}}}',
    /^a\.json is damaged: it has more failed requests than requests; take the file as k6 wrote it$/,
  ],
  [
    'percentiles that fall',
    text('vegeta-report.json').replace(/"95th": ?\d+/, '"95th":1'),
    /it has a p90 of .* ms above a p95 of .* ms; /,
  ],
  [
    'more answers than requests',
    text('vegeta-report.json').replace('"200": 77', '"200": 770'),
    /^a\.json is damaged: it has 773 answers to 80 requests; take the file as vegeta wrote it$/,
  ],
  [
    'a request without its code',
    '{"code":200,"latency":1,"timestamp":"2026-11-23T09:35:55Z"}\n{"latency":1,"timestamp":"2026-11-23T09:35:55Z"}\n',
    /^a\.json, line 2, is damaged: a request without its code; /,
  ],
  [
    'a request without its time',
    '{"code":200,"latency":1,"timestamp":"x"}\n',
    /^a\.json is damaged: a request without its time; /,
  ],
  [
    'a point without its value',
    `${METRIC}\n${POINT.replace(/"value":[\d.]+/, '"value":null')}\n`,
    /^a\.json, line 2, is damaged: a request without its latency; /,
  ],
  ['a line that is none', `${METRIC}\n${POINT}\n[]\n`, /^a\.json, line 3, is damaged: it is no JSON object; /],
] as const) {
  test(`${what} is refused in one sentence`, () => {
    assert.throws(() => readResult(content, 'a.json'), { name: 'UserError', message: sentence })
  })
}

test("k6's points without the tag of the status say nothing of answers", () => {
  const { requests, answered, ok, failed, latencyOf } = read(`${METRIC}\n${POINT.replace(/"status":"\d+",?/, '')}\n`)
  assert.deepEqual([requests, answered, ok, failed, latencyOf], [1, null, null, null, 'all requests'])
})

test("k6's iterations that were dropped are requests never sent", () => {
  const dropped =
    '{"metric":"dropped_iterations","type":"Point","data":{"time":"2026-11-23T09:35:52Z","value":3,"tags":{}}}'
  assert.equal(read([METRIC, POINT, dropped, dropped].join('\n')).unsent, 6)
})
