/** For all kinds of requests, Prometheus can read a scrape: no series appears twice, and each HELP and TYPE once. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import http from 'node:http'
import { describe, it, test } from 'node:test'
import { logLosses, sheds } from '../../src/channels.ts'
import { limiter } from '../../src/limiter/index.ts'
import { namePool } from '../../src/named-figures.ts'
import { countedOf, type Figures, figuresOf, joined } from '../../src/observe/joined-families.ts'
import { measuredFamilies } from '../../src/observe/measured-families.ts'
import type { GuardLike } from '../../src/observe/metrics.ts'
import { checkObserveOptions } from '../../src/observe/options.ts'
import { openMetricsText, prometheusText } from '../../src/observe/scrape.ts'
import { protect } from '../../src/server/protect.ts'
import { skipWithout } from '../installed.ts'
import { eventually, Holding, listen } from '../server/harness.ts'
import { wrongWith } from './exposition.ts'
import { publishCall } from './published.ts'

const GOOD = `# HELP a_total What it counts.
# TYPE a_total counter
a_total{x="1",y="quo\\"te"} 3
a_total{x="2",y=""} 0
# HELP h What it measures.
# TYPE h histogram
h_bucket{le="0.5"} 1
h_bucket{le="+Inf"} 2
h_sum 1.5
h_count 2
`
const GOOD_OPEN = `# HELP a What it counts.
# TYPE a counter
a_total{x="1"} 3
# HELP h What it measures.
# TYPE h histogram
h_bucket{le="0.5"} 1 # {trace_id="0af7651916cd43dd8448eb211c80319c"} 0.4 1.500
h_bucket{le="+Inf"} 2
h_sum 1.5
h_count 2
# EOF
`

describe('the checker of expositions', () => {
  it('accepts a correct exposition', () => {
    assert.deepEqual(wrongWith(GOOD, 'prometheus'), [])
    assert.deepEqual(wrongWith(GOOD_OPEN, 'openmetrics'), [])
  })

  for (const [what, from, to] of [
    ['a series twice', 'a_total{x="2",y=""} 0', 'a_total{x="2",y=""} 0\na_total{y="",x="2"} 1'],
    ['a label twice', 'y=""', 'x=""'],
    ['HELP twice', '# TYPE a_total', '# HELP a_total Again.\n# TYPE a_total'],
    ['TYPE twice', '# TYPE h histogram', '# TYPE h histogram\n# TYPE h histogram'],
    ['not one group', 'h_count 2\n', 'h_count 2\n# HELP a_total Again.\n'],
    ['do not stand before it', '# HELP h What it measures.\n# TYPE h histogram\n', ''],
    ['no HELP or no TYPE', '# HELP h What it measures.\n', ''],
    ['not a sample', 'y=""', 'y="""'],
    ['not a sample', 'h_sum 1.5', 'h_sum nothing'],
    ['not cumulative', 'h_bucket{le="0.5"} 1', 'h_bucket{le="0.5"} 3'],
    ['no bucket +Inf', 'h_bucket{le="+Inf"} 2\n', ''],
    ['bounds do not rise', 'le="0.5"', 'le="+Inf"'],
    ['the count is 3', 'h_count 2', 'h_count 3'],
    ['no sum', 'h_sum 1.5\n', ''],
    ['counts below 0', 'y=""} 0', 'y=""} -1'],
    ['does not end', 'h_count 2\n', 'h_count 2'],
  ] as const) {
    it(`reports: ${what}`, () => {
      assert.notEqual(GOOD.replace(from, to), GOOD)
      const said = wrongWith(GOOD.replace(from, to), 'prometheus').join('\n')
      assert.ok(said.includes(what), said)
    })
  }

  for (const [what, from, to] of [
    ['an exemplar of another bucket', '} 0.4 ', '} 0.6 '],
    ['not # EOF', '# EOF\n', ''],
    ['do not stand before it', 'a_total', 'a'],
    ['not escaped', 'What it counts', 'What "it" counts'],
  ] as const) {
    it(`reports for OpenMetrics: ${what}`, () => {
      assert.match(wrongWith(GOOD_OPEN.replaceAll(from, to), 'openmetrics').join('\n'), new RegExp(what))
    })
  }
})

/** Checks a guard's scrapes in both formats, alone and in a cluster whose other workers have other series. */
function watched(guard: GuardLike) {
  const options = checkObserveOptions('test', guard, { mostNames: 3 })
  const { families, close } = measuredFamilies(guard, options)
  // The figures as another worker sends them. Ended workers are represented by the figures of now and of the start.
  const told = (): Figures => JSON.parse(JSON.stringify(figuresOf(families)))
  const first = told()
  const check = (): string => {
    for (const each of [
      families,
      joined(families, [figuresOf(families), told(), countedOf(families, [first, told()])]),
    ]) {
      assert.deepEqual(wrongWith(prometheusText(each), 'prometheus'), [])
      assert.deepEqual(wrongWith(openMetricsText(each), 'openmetrics'), [])
    }
    return prometheusText(families)
  }
  return { check, close }
}

test('no series appears twice when clients leave from the queue and from service', async () => {
  const holding = new Holding()
  const server = http.createServer(holding.handler)
  const guard = protect(server, { limit: 1 })
  const { check, close } = watched(guard)
  const { connect } = await listen(server)
  check()
  const inService = (await connect()).get('/in-service')
  await holding.take('/in-service')
  const waiting = (await connect()).get('/waiting')
  await eventually('it waits', () => guard.stats().queued === 1)
  check()
  for (const client of [waiting, inService]) client.destroy()
  const aborted = /^http_server_request_duration_seconds_count\{.*error_type="aborted".*\} (\d+)$/gm
  const counts = (): number[] => [...check().matchAll(aborted)].map(([, count]) => Number(count))
  await eventually('both are counted', () => counts().reduce((sum, count) => sum + count, 0) === 2)
  assert.deepEqual(counts(), [2])
  close()
})

let inManyStates = ''
test('no series appears twice after sheds, dry runs, errors, calls, and names that need escapes', async () => {
  const server = http.createServer((request, response) => {
    if (request.url === '/cut') response.destroy()
    else response.writeHead(Number(request.url!.slice(1))).end()
  })
  const guard = protect(server)
  const { check, close } = watched({
    ...guard,
    ofAll: true,
    sheds: () => [guard.stats(), { ...guard.stats(), dryRun: true }],
  })
  const { port } = await listen(server)
  for (const path of ['200', '404', '500', '503', '504', 'cut']) {
    await fetch(`http://127.0.0.1:${port}/${path}`).then(
      answer => answer.text(),
      () => undefined,
    )
    check()
  }
  for (const reason of ['full', 'late', 'left']) {
    for (const method of ['GET', '_OTHER']) {
      sheds.publish({
        record: { atMs: 0, reason, method, waitedMs: 2, bytes: 0, count: 2 },
        guard,
        server,
        request: undefined,
      })
      check()
    }
  }
  for (const peer of [
    'http://a.example',
    'http://a.example:80',
    'https://a.example:80',
    'a.example:80/"db"',
    'http://b.example',
  ]) {
    for (const more of [{}, { status: 503 }, { status: undefined, outcome: 'failed', errorCode: '503' }] as const) {
      await publishCall(4, { peer, ...more })
      await publishCall(4, { peer, kind: 'pg', ...more })
      check()
    }
  }
  for (const stream of ['stdout', 'stderr'] as const) logLosses.publish({ stream, lines: 1, bytes: 10 })
  const limiters = ['a', 'b"\\\n', 'a'].map(name => limiter({ name }))
  const pool = () => ({ name: 'db:5432/"shop"\n', used: 1, waiting: 0, most: 10 })
  const again = () => pool()
  for (const each of [pool, again]) namePool(each)
  const text = check()
  assert.match(text, /^db_client_connection_count\{.*\} 2$/m)
  inManyStates = text
  await guard.drain(0)
  check()
  for (const each of limiters) each.close()
  close()
})

test('promtool accepts the exposition of a server after sheds, dry runs, errors and calls', {
  skip: skipWithout('promtool', 'prometheus'),
}, () => {
  const options = { input: inManyStates, encoding: 'utf8' } as const
  const { status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], options)
  assert.notEqual(inManyStates, '')
  // Status 3 means that promtool read all of it and only suggests other suffixes for some of OpenTelemetry's names.
  assert.ok(status === 0 || status === 3, stdout + stderr)
})
