/**
 * A closed loop in ab's words (ApacheBench 2.3, `-k -l`): the same lines, and what they count is what ab counts. Pure.
 *
 * Every request that got a connection is complete, whatever came of it, and is in the times; "non-2xx" has 3xx as well.
 * What differs: an answer that breaks off has failed here (to receive), while ab takes it for complete, and the times start
 * when a user wants the answer. ab splits them into connecting, processing and waiting; that is not in our books.
 */
import { Histogram } from '../load/histogram.ts'
import type { LoadOutcome, LoadPlan } from '../load/plan.ts'
import { parseTarget } from '../load/target.ts'

const PERCENTAGES = [50, 66, 75, 80, 90, 95, 98, 99]

export const abReport = (plan: LoadPlan, outcome: LoadOutcome): string => {
  const { hostname, port, path } = parseTarget(plan.url, plan.templated)
  const { answered, failed, sent } = outcome
  const seconds = outcome.elapsedMs / 1000
  const users = plan.arrival.kind === 'closed' ? plan.arrival.users : 0
  const connect = sumOf(failed, ['refused', 'connect-timeout', 'unresolved', 'unreachable'])
  const receive = sumOf(failed, ['reset', 'response-timeout', 'aborted'])
  const exceptions = sumOf(failed, ['malformed', 'other'])
  const complete = sent - connect
  const not2xx = Object.entries(answered).reduce((sum, [status, times]) => sum + (status[0] === '2' ? 0 : times), 0)
  const bad = connect + receive + exceptions
  const all = Histogram.merged([outcome.okLatency, outcome.shedLatency, outcome.otherLatency, outcome.failedAfter])
  const perRequestMs = complete === 0 ? 0 : outcome.elapsedMs / complete
  const rows: [name: string, text: string][] = [
    ['Server Hostname:', hostname],
    ['Server Port:', String(port)],
    ['', ''],
    ['Document Path:', path],
    ['Document Length:', 'Variable'],
    ['', ''],
    ['Concurrency Level:', String(users)],
    ['Time taken for tests:', `${seconds.toFixed(3)} seconds`],
    ['Complete requests:', String(complete)],
    ['Failed requests:', String(bad)],
    ...(bad === 0
      ? []
      : [
          ['', `   (Connect: ${connect}, Receive: ${receive}, Length: 0, Exceptions: ${exceptions})`] as [
            string,
            string,
          ],
        ]),
    ...(not2xx === 0 ? [] : [['Non-2xx responses:', String(not2xx)] as [string, string]]),
    ['Total transferred:', `${outcome.bytesRead} bytes`],
    ...(outcome.bodyBytesSent === 0 ? [] : [['Total body sent:', String(outcome.bodyBytesSent)] as [string, string]]),
    ['HTML transferred:', `${outcome.bodyBytes} bytes`],
    ['Requests per second:', `${(complete / seconds).toFixed(2)} [#/sec] (mean)`],
    ['Time per request:', `${(perRequestMs * users).toFixed(3)} [ms] (mean)`],
    ['Time per request:', `${perRequestMs.toFixed(3)} [ms] (mean, across all concurrent requests)`],
    ['Transfer rate:', `${(outcome.bytesRead / 1024 / seconds).toFixed(2)} [Kbytes/sec] received`],
  ]
  return [
    ...rows.map(([name, text]) => (name === '' ? text : name.padEnd(24) + text)),
    '',
    'Connection Times (ms)',
    '              min  mean[+/-sd] median   max',
    totalLine(all),
    '',
    'Percentage of the requests served within a certain time (ms)',
    ...PERCENTAGES.map(percent => `  ${percent}%  ${whole(all.percentile(percent)).padStart(5)}`),
    ` 100%  ${whole(all.max).padStart(5)} (longest request)`,
    '',
  ].join('\n')
}

const totalLine = (all: Histogram): string => {
  const middle = `${whole(all.mean).padStart(4)} ${(all.count === 0 ? 0 : all.deviation).toFixed(1).padStart(5)}`
  return `Total:     ${whole(all.min).padStart(6)} ${middle} ${whole(all.percentile(50)).padStart(6)} ${whole(all.max).padStart(7)}`
}

const whole = (ms: number): string => String(Number.isNaN(ms) ? 0 : Math.round(ms))

const sumOf = (counts: LoadOutcome['failed'], codes: readonly (keyof LoadOutcome['failed'])[]): number =>
  codes.reduce((sum, code) => sum + (counts[code] ?? 0), 0)
