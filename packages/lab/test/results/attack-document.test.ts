/** The document of a load run: its contents, what it hides, and the error for an unreadable one. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Histogram } from '../../src/load/histogram.ts'
import { attackDocument, attackJson, documentOf, outcomeOf } from '../../src/results/attack-document.ts'
import { checkAttack, parseJson, readResult } from '../../src/results/read-attack.ts'
import { madeAttack, madeOutcome, madePlan, origin } from './made-attack.ts'

const read = (text: string) => checkAttack(parseJson(text, 'a.json'), 'a.json')
// biome-ignore lint/suspicious/noExplicitAny: the tests damage any member
type Damaged = Record<string, any>
const damaged = (change: (document: Damaged) => void): string => {
  const document = JSON.parse(attackJson(madeAttack({ shed: 2, failed: 1 }))) as Damaged
  change(document)
  return JSON.stringify(document)
}

test('a printed document reads back unchanged', () => {
  const made = { shed: 2, failed: 1, unsent: 1 }
  const document = madeAttack(made)
  assert.deepEqual(read(attackJson(document)), JSON.parse(JSON.stringify(document)))
  const outcome = outcomeOf(document)
  assert.deepEqual(outcome.okLatency.toJSON(), madeOutcome(made).okLatency.toJSON())
  // The whole outcome gives the same document again.
  assert.deepEqual(documentOf(document.url, document.plan, outcome, { ...origin, runs: document.runs }), document)
})

test('a histogram is unchanged after a round trip through the document', () => {
  fc.assert(
    fc.property(fc.array(fc.double({ min: 0, max: 1e6, noNaN: true }), { minLength: 1 }), values => {
      const before = new Histogram()
      for (const value of values) before.record(value)
      const document = madeAttack({ seconds: 1, okMs: values })
      const after = outcomeOf(JSON.parse(attackJson(document))).okLatency
      assert.deepEqual(after.toJSON(), before.toJSON())
      for (const percent of [0, 50, 99, 100]) assert.equal(after.percentile(percent), before.percentile(percent))
    }),
    { numRuns: 50 },
  )
})

test('each second of the series is one line of the text', () => {
  const lines = attackJson(madeAttack({ seconds: 30 })).split('\n')
  assert.equal(lines.filter(line => line.startsWith('    {"second":')).length, 30)
})

test('the document hides credentials, and has only a digest of the body', () => {
  const headers = { Authorization: 'Bearer geheim', 'X-Api-Key': 'geheim', cookie: 'sid=geheim', accept: 'text/html' }
  const document = attackDocument(madePlan({ plan: { headers, body: 'password=geheim' } }), madeOutcome({}), origin)
  assert.doesNotMatch(attackJson(document), /geheim/)
  assert.equal(document.plan.headers['accept'], 'text/html')
  assert.equal(document.plan.body?.bytes, 15)
  const other = attackDocument(madePlan({ plan: { body: 'password=GEHEIM' } }), madeOutcome({}), origin)
  assert.notEqual(document.plan.body?.sha256, other.plan.body?.sha256)
})

for (const [what, text, sentence] of [
  [
    'an empty file',
    '',
    /^a\.json ends in the middle of its JSON: it was truncated, or is still being written; use the complete file$/,
  ],
  ['half a document', attackJson(madeAttack()).slice(0, 500), /^a\.json ends in the middle of its JSON/],
  ['text that is not JSON', 'Requests 50', /^a\.json is not JSON: /],
  ['JSON of another kind', '{"kind":"scenario"}', /^a\.json is not a result of meltlab attack --json$/],
  ['a list', '[]', /^a\.json is not a result of meltlab attack --json$/],
  [
    'a later version',
    damaged(d => (d['version'] = 2)),
    /^a\.json has format version 2, but this meltlab reads version 1; read it/,
  ],
  [
    'an invalid date',
    damaged(d => (d['startedAt'] = 'yesterday')),
    /is damaged: startedAt must be a date such as 2026-11-23T10:00:00\.000Z, got yesterday; use the file/,
  ],
  ['an invalid URL', damaged(d => (d['url'] = 'here')), /is damaged: url must be an http or https address, got here; /],
  [
    'a second out of sequence',
    damaged(d => (d['seconds'][1].second = 1e15)),
    /seconds\[1\] is of second 1000000000000000; /,
  ],
  [
    'a count that is not a number',
    damaged(d => (d['seconds'][1].good = 'x')),
    /is damaged: seconds\[1\]\.good must be integer, got "x"; use the file as meltlab attack --json wrote it, or repeat the run$/,
  ],
  [
    'a missing member',
    damaged(d => delete d['histograms'].ok.clean),
    /is damaged: histograms\.ok must have required property 'clean'; /,
  ],
  ['an unknown member', damaged(d => (d['extra'] = 1)), /is damaged: it must not have extra; /],
  [
    'an invalid plan',
    damaged(d => (d['plan'].arrival.schedule.phases[0].rate = -1)),
    /phases\[0\]\.rate must be >= 0, got -1; /,
  ],
  [
    'buckets that do not add up',
    damaged(d => (d['histograms'].ok.measured.buckets[1] += 1)),
    /is damaged: not a histogram/,
  ],
  [
    'answers that do not add up',
    damaged(d => (d['answered']['200'] += 1)),
    /answers and failures add up to 29, sent is 28; /,
  ],
  [
    'answers that differ from the histograms',
    damaged(d => (d['answered'] = { 200: 8, 503: 16 })),
    /histograms\.ok\.measured\.count is 16, the counts say 8; /,
  ],
  [
    'more good answers than answers',
    damaged(d => (d['good'] = 17)),
    /good and answers 2xx and 3xx is 17, the latter is 16; /,
  ],
  ['seconds that do not add up', damaged(d => d['seconds'].pop()), /scheduled of all seconds is 21, scheduled is 28; /],
  [
    'a certified run with a doubt',
    damaged(d => (d['certificate'].doubts = ['late'])),
    /certified is true, its certificate says certified, late; /,
  ],
  [
    'a doubt without a reason',
    damaged(d =>
      Object.assign(d, { certified: false, certificate: { ...d['certificate'], code: 'late', doubts: ['late'] } }),
    ),
    /certified is false, with 0 reasons why not; /,
  ],
  [
    'a minimum above the maximum',
    damaged(d => (d['histograms'].ok.measured.minMs = 5000)),
    /minMs 5000, maxMs 40 and sumMs 184 do not fit the 16 values in its buckets; /,
  ],
  [
    'a sum that does not fit the buckets',
    damaged(d => (d['histograms'].ok.measured.sumMs = 1e300)),
    /sumMs 1e\+300 do not fit the 16/,
  ],
  [
    'a bucket twice',
    damaged(d => d['histograms'].ok.measured.buckets.push(0, 1)),
    /not a histogram: bucket 0 with count 1 after bucket \d+; /,
  ],
  [
    'a count above the safe integers',
    damaged(d => (d['bytesRead'] = 1e300)),
    /bytesRead must be <= 9007199254740991, got 1e\+300; /,
  ],
  [
    '__proto__ as a status',
    damaged(d => (d['answered'] = JSON.parse('{"__proto__":24}'))),
    /the name of answered\.__proto__ must match pattern/,
  ],
  ['an unknown failure', damaged(d => (d['failed'] = { constructor: 4 })), /failed must not have constructor; /],
  [
    'a load without duration',
    damaged(d => (d['plan'].arrival.schedule.phases[0].durationMs = 0)),
    /durationMs must be >= 1, got 0; /,
  ],
  [
    'a javascript: URL',
    damaged(d => (d['url'] = 'javascript:alert(1)')),
    /url must be an http or https address, got javascript:alert\(1\); /,
  ],
  [
    'a deeply nested value',
    attackJson(madeAttack()).replace(/"url": "[^"]*"/, `"url": ${'['.repeat(9000)}${']'.repeat(9000)}`),
    /url must be string, got a list of 1; /,
  ],
  ['requests that do not add up', damaged(d => (d['unsent'] = 5)), /sent and unsent add up to 33, scheduled is 28; /],
] as const) {
  test(`a document is refused in one sentence: ${what}`, () => {
    assert.throws(() => read(text), { name: 'UserError', message: sentence })
  })
}

test('a byte order mark before a document is ignored', () => {
  assert.equal(readResult(`\uFEFF${attackJson(madeAttack())}`, 'a.json').kind, 'attack')
})
