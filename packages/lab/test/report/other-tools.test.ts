/**
 * `--like ab`, `siege` and `wrk2`. What they count was seen of ab 2.3 and siege 4.0.7 themselves: 20 requests, every other one
 * answered with another status, cut, or not at all. wrk2's layout is that of its published output.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { abReport } from '../../src/report/ab-report.ts'
import { siegeReport } from '../../src/report/siege-report.ts'
import { wrk2Report } from '../../src/report/wrk2-report.ts'
import type { LoadOutcome, LoadSecond } from '../../src/load/plan.ts'
import { histogramOf, madeOutcome, madePlan } from '../attack/made-outcome.ts'

const ten = Array.from({ length: 10 }, () => 2)
/** Of 20 requests, ten answered 200 and ten this way. */
const half = (status: number): LoadOutcome =>
  madeOutcome({
    scheduled: 20,
    sent: 20,
    unsent: 0,
    answered: { 200: 10, [status]: 10 },
    failed: {},
    okLatency: histogramOf(status < 400 ? [...ten, ...ten] : ten),
    shedLatency: histogramOf(status === 503 ? ten : []),
    otherLatency: histogramOf(status >= 400 && status !== 503 ? ten : []),
    failedAfter: histogramOf([]),
    elapsedMs: 2000,
  })
const users = madePlan({ arrival: { kind: 'closed', users: 2, thinkMs: 0, durationMs: 2000 } })

describe('--like siege', () => {
  test('counts hits, successes and failures as siege does', () => {
    const cases: readonly [status: number, hits: number, availability: string, successful: number, failed: number][] = [
      [404, 20, '100.00', 10, 0],
      [500, 10, '50.00', 10, 10],
      [503, 10, '50.00', 10, 10],
      [304, 20, '100.00', 20, 0],
    ]
    for (const [status, hits, availability, successful, failed] of cases) {
      const text = siegeReport(half(status))
      const figure = (name: string): string => new RegExp(`^${name}:\\s+(\\S+)`, 'm').exec(text)![1]!
      assert.deepEqual(
        [
          figure('Transactions'),
          figure('Availability'),
          figure('Successful transactions'),
          figure('Failed transactions'),
        ],
        [String(hits), availability, String(successful), String(failed)],
        String(status),
      )
    }
  })

  test('has its lines, tabs and all', () => {
    const text = siegeReport(madeOutcome({ elapsedMs: 10_000, bytesRead: 2 * 1_048_576 }))
    assert.deepEqual(text.split('\n'), [
      'Transactions:\t\t          80 hits',
      'Availability:\t\t       81.63 %',
      'Elapsed time:\t\t       10.00 secs',
      'Data transferred:\t        2.00 MB',
      'Response time:\t\t        0.04 secs',
      'Transaction rate:\t        8.00 trans/sec',
      'Throughput:\t\t        0.20 MB/sec',
      'Concurrency:\t\t        0.33',
      'Successful transactions:          80',
      'Failed transactions:\t          18',
      'Longest transaction:\t        0.08',
      'Shortest transaction:\t        0.00',
      '',
    ])
  })
})

describe('--like ab', () => {
  test('has 3xx among the non-2xx, and failures among the complete', () => {
    for (const status of [404, 500, 503, 304]) {
      const text = abReport(users, half(status))
      assert.match(text, /^Complete requests: {6}20$/m)
      assert.match(text, /^Failed requests: {8}0$/m)
      assert.match(text, /^Non-2xx responses: {6}10$/m)
    }
  })

  test('has its lines', () => {
    const text = abReport(
      { ...users, url: 'http://127.0.0.1:3000/a?b=1' },
      madeOutcome({
        unsent: 0,
        elapsedMs: 2000,
        failed: { reset: 3, malformed: 1 },
        bodyBytesSent: 7,
        bytesRead: 20_480,
      }),
    )
    assert.deepEqual(text.split('\n').slice(0, 22), [
      'Server Hostname:        127.0.0.1',
      'Server Port:            3000',
      '',
      'Document Path:          /a?b=1',
      'Document Length:        Variable',
      '',
      'Concurrency Level:      2',
      'Time taken for tests:   2.000 seconds',
      'Complete requests:      98',
      'Failed requests:        4',
      '   (Connect: 0, Receive: 3, Length: 0, Exceptions: 1)',
      'Non-2xx responses:      14',
      'Total transferred:      20480 bytes',
      'Total body sent:        7',
      'HTML transferred:       100000 bytes',
      'Requests per second:    49.00 [#/sec] (mean)',
      'Time per request:       40.816 [ms] (mean)',
      'Time per request:       20.408 [ms] (mean, across all concurrent requests)',
      'Transfer rate:          10.00 [Kbytes/sec] received',
      '',
      'Connection Times (ms)',
      '              min  mean[+/-sd] median   max',
    ])
    assert.match(text, /^Total: {10}1 {3}34 {2}25\.3 {5}31 {6}80$/m)
    assert.match(text, /^ {2}50% {5}31$/m)
    assert.match(text, /^ 100% {5}80 \(longest request\)$/m)
  })
})

describe('--like wrk2', () => {
  const second = (at: number, times: number): LoadSecond => ({
    ...{ second: at, scheduled: times, sent: times, failed: {}, good: times },
    ...{ answered: { 200: times }, okLatency: histogramOf([]), shedLatency: histogramOf([]) },
  })

  test('has its lines, units and columns', () => {
    const outcome = madeOutcome({
      elapsedMs: 60_000,
      bytesRead: 90 * 1_048_576,
      seconds: [second(0, 2000), second(1, 3000)],
      failed: { refused: 1, reset: 2, 'response-timeout': 3 },
    })
    const arrival = madePlan({}).arrival
    const text = wrk2Report(madePlan({ arrival }), outcome)
    const lines = text.split('\n')
    assert.equal(lines[0], 'Running 10s test @ http://127.0.0.1:3000/')
    assert.equal(lines[1], '  1 threads and 50 connections')
    assert.equal(lines[2], '  Thread Stats   Avg      Stdev     Max   +/- Stdev')
    assert.match(lines[3]!, /^ {4}Latency {4}35\.16ms {3}24\.\d\dms {2}80\.00ms {3}\d\d\.\d\d%$/)
    assert.equal(lines[4], '    Req/Sec     2.50k   500.00     3.00k   100.00%')
    assert.match(text, /^ 50\.000% {3}\d\d\.\d\dms$/m)
    assert.match(text, /^100\.000% {3}80\.00ms$/m)
    assert.match(text, /^ {2}94 requests in 1\.00m, 90\.00MB read$/m)
    assert.match(text, /^ {2}Socket errors: connect 1, read 2, write 0, timeout 3$/m)
    assert.match(text, /^ {2}Non-2xx or 3xx responses: 14$/m)
    assert.match(text, /^Requests\/sec: {6}1\.57$/m)
    assert.match(text, /^Transfer\/sec: {6}1\.50MB$/m)
  })

  test('without an answer has zeros', () => {
    const none = madeOutcome({
      okMs: [],
      answered: {},
      shedLatency: histogramOf([]),
      otherLatency: histogramOf([]),
    })
    const text = wrk2Report(madePlan({}), none)
    assert.doesNotMatch(text, /NaN|undefined/)
    assert.match(text, /^ {4}Latency {5}0\.00us/m)
    assert.doesNotMatch(abReport(users, none), /NaN|undefined/)
    assert.doesNotMatch(siegeReport(none), /NaN|undefined/)
  })
})
