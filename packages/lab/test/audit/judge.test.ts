/** Findings from observed facts. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Cause, CAUSES } from '../../src/audit/causes.ts'
import type { Facts } from '../../src/audit/facts.ts'
import { judge, pathsWithTooFewRequests, type Shutdown } from '../../src/audit/judge.ts'
import type { AuditResult } from '../../src/audit/result.ts'
import { auditText } from '../../src/audit/text.ts'

const clean: Facts = {
  pid: 1,
  node: 'v24.0.0',
  phase: 'end',
  requests: 500,
  tallies: [],
  servers: [{ address: 'port 3000', headersTimeoutMs: 60_000, requestTimeoutMs: 300_000 }],
  holds: [],
  paths: [{ path: '/', requests: 300, tookMs: 4000 }],
  terminate: 1,
  listensToSigterm: true,
  exit: { listening: false, unfinished: 0 },
}
const drained: Shutdown = { inFlight: 4, cut: 0, stillRunning: [], waitedMs: 500 }
const tally = (cause: Cause, times = 10, longestQueue = 0) => ({
  cause,
  what: 'it',
  where: 'a.js:1',
  path: '',
  times,
  longestQueue,
})
const causesOf = (facts: Partial<Facts>, shutdown: Partial<Shutdown> = {}): Cause[] =>
  judge([{ ...clean, ...facts }], { ...drained, ...shutdown }).map(({ cause }) => cause)

describe('judge', () => {
  it('finds nothing in a clean app', () => assert.deepEqual(causesOf({}), []))

  it('reports a function that blocks the loop at least three times and for a tenth of the time', () => {
    const hold = (tookMs: readonly number[]) => causesOf({ holds: [{ where: 'a.js:1', calls: '', path: '/', tookMs }] })
    assert.deepEqual(hold([130, 140, 150]), ['loop-held'])
    assert.deepEqual(hold([300, 300]), [], 'twice')
    assert.deepEqual(hold([60, 60, 60]), [], 'less than a tenth of the time')
    const [found] = judge(
      [{ ...clean, holds: [{ where: 'a.js:1', calls: 'scryptSync', path: '/', tookMs: [400, 60, 80] }] }],
      drained,
    )
    assert.equal(found?.what, 'the event loop is blocked for 80 ms (median), at most 400 ms, in scryptSync')
    assert.equal(found?.times, 3)
  })

  it('reports writes to stdout that come with requests, but not occasional writes or writes at startup', () => {
    // 200 of the 500 requests arrived together.
    assert.deepEqual(causesOf({ tallies: [tally('stdout-writes', 19)] }), [])
    assert.deepEqual(causesOf({ tallies: [tally('stdout-writes', 20)] }), ['stdout-writes'])
    assert.deepEqual(causesOf({ requests: 320, tallies: [tally('stdout-writes', 9)] }), [])
  })

  const five = ['/1', '/2', '/3', '/4', '/5']

  it('judges the blocking on each path separately, however many paths there are', () => {
    // Five requests of 400 ms on each path: less than a tenth of the total time, but most of the time of the path.
    const paths = five.map(path => ({ path, requests: 5, tookMs: 2050 }))
    const holds = paths.map(({ path }) => ({
      where: `a.js${path}`,
      calls: '',
      path,
      tookMs: [400, 400, 400, 400, 400],
    }))
    const quiet = { path: '/quiet', requests: 40_000, tookMs: 400_000 }
    assert.equal(causesOf({ paths: [...paths, quiet], holds }).length, 5)
    // Each worker of a cluster has only some of the requests.
    const worker = (pid: number, tookMs: number[]) => ({
      ...{ ...clean, pid, paths: [{ path: '/1', requests: 3, tookMs: 1230 }] },
      holds: [{ where: 'a.js', calls: '', path: '/1', tookMs }],
    })
    const [found] = judge([worker(1, [400]), worker(2, [410, 420])], drained)
    assert.equal(found?.what, 'the event loop is blocked for 410 ms (median), at most 420 ms')
    const shared = five.map(path => ({ where: 'a.js', calls: '', path, tookMs: [400, 400, 400, 400, 400] }))
    assert.deepEqual(
      judge([{ ...clean, paths, holds: shared }], drained).map(({ times }) => times),
      [25],
      'one place is one finding',
    )
  })

  it('does not dilute the writes on one path by requests to other paths', () => {
    const paths = [
      { path: '/log', requests: 5, tookMs: 2000 },
      { path: '/quiet', requests: 5000, tookMs: 2000 },
    ]
    const written = (times: number) => ({ ...tally('stdout-writes', times), path: '/log' })
    const [found] = judge([{ ...clean, requests: 9000, paths, tallies: [written(5)] }], drained)
    assert.equal(found?.what, '1.0 writes to it a request: a file or terminal blocks the loop')
    assert.deepEqual(causesOf({ requests: 9000, paths, tallies: [written(4)] }), [], 'a timer that logs')
  })

  it('lists the paths with too few requests to judge', () => {
    const paths = [
      { path: '/slow', requests: 4, tookMs: 12_000 },
      { path: '/', requests: 5, tookMs: 900 },
    ]
    assert.deepEqual(pathsWithTooFewRequests([{ ...clean, paths }], ['/', '/slow', '/never']), ['/slow', '/never'])
  })

  it('reports a server whose headersTimeout or requestTimeout is 0', () => {
    const server = (headersTimeoutMs: number, requestTimeoutMs: number) =>
      judge([{ ...clean, servers: [{ address: 'port 80', headersTimeoutMs, requestTimeoutMs }] }], drained)
    assert.equal(server(0, 0)[0]?.what, 'headersTimeout and requestTimeout of the server on port 80 are off')
    assert.equal(server(1, 0)[0]?.what, 'requestTimeout of the server on port 80 is off')
  })

  it('distinguishes the ways in which an app does not drain on SIGTERM', () => {
    const says = (facts: Partial<Facts>, shutdown: Partial<Shutdown> = {}) =>
      judge([{ ...clean, ...facts }], { ...drained, ...shutdown }).map(({ what }) => what)
    assert.deepEqual(says({ exit: null, listensToSigterm: false }, { cut: 3 }), [
      'nothing handles SIGTERM; 3 of 4 requests in flight were cut',
    ])
    assert.deepEqual(says({ exit: { listening: true, unfinished: 0 } }, { inFlight: 0 }), [
      'on SIGTERM it exits with its server still open',
    ])
    assert.match(says({ exit: { listening: false, unfinished: 2 } })[0]!, /before its requests are answered/)
    assert.match(says({ exit: null }, { stillRunning: [1], waitedMs: 30_050 })[0]!, /did not end within 30 s/)
    assert.deepEqual(says({ exit: null }), [], 'ended by the signal once it had drained')
    assert.deepEqual(judge([{ ...clean, exit: null, listensToSigterm: false }], null), [], 'not tried')
  })

  it('sorts findings by severity, then by number of occurrences', () => {
    const tallies = [
      tally('stdout-writes', 99),
      tally('http-unbounded', 3),
      { ...tally('http-unbounded', 7), what: 'b' },
    ]
    const found = judge([{ ...clean, tallies }], drained)
    assert.deepEqual(
      found.map(({ cause, times }) => [cause, times]),
      [
        ['http-unbounded', 7],
        ['http-unbounded', 3],
        ['stdout-writes', 99],
      ],
    )
  })

  it('merges the same finding in several processes', () => {
    const facts = { ...clean, tallies: [tally('agent-endless', 4, 9)] }
    const found = judge([facts, { ...facts, pid: 2, tallies: [tally('agent-endless', 2, 20)] }], drained)
    assert.equal(found.length, 1)
    assert.equal(found[0]?.times, 6)
    assert.match(found[0]!.what, /longest seen: 20/)
  })
})

describe('the text report of an audit', () => {
  const result = (findings: AuditResult['findings']): AuditResult => ({
    kind: 'audit',
    version: 1,
    command: ['node', 'app.js'],
    origin: 'http://127.0.0.1:3000',
    method: 'GET',
    paths: ['/', '/search?q=tide'],
    node: ['v24.0.0'],
    startedAt: '2026-01-01T00:00:00.000Z',
    elapsedMs: 1,
    requests: 1234,
    incomplete: false,
    findings,
    worst: findings[0]?.severity ?? null,
    tooFew: [],
    notes: [],
  })

  it('fits 80 columns for every cause, and shows its remedy on one line', () => {
    const tallies = Object.keys(CAUSES).map(cause => ({
      ...tally(cause as Cause, 5000, 120),
      what: 'http://recommendations.production.svc.cluster.local:8080',
      where: 'src/features/recommendations/handlers/load-recommendations.js:1234 (loadRecommendations)',
    }))
    const text = auditText(result(judge([{ ...clean, tallies }], drained)))
    for (const { remedy } of Object.values(CAUSES)) assert.ok(text.includes(`-> ${remedy}\n`), remedy)
    // A path is one word, so it is not wrapped.
    for (const line of text.split('\n')) assert.ok(line.length <= 80 || line.includes('src/features'), line)
  })

  it('ends with the verdict', () => {
    assert.equal(auditText(result([])), 'nothing found, in 1,234 requests to /, /search?q=tide.')
    const found = judge([{ ...clean, tallies: [tally('http-unbounded'), tally('stdout-writes', 500)] }], drained)
    assert.match(auditText(result(found)), /\n\n1 thing would melt it, 1 warning, in 1,234 requests to \/, \S+\.$/)
    assert.equal(
      auditText({ ...result([]), tooFew: ['/search?q=tide'] }),
      'too few requests to judge /search?q=tide (raise --duration), in 1,234 requests\nto /, /search?q=tide.',
    )
    assert.match(auditText({ ...result([]), incomplete: true }), /^INCOMPLETE, ended early: nothing found/)
  })
})
