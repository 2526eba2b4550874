/** `meltlab attack` as its user meets it: exit codes, sentences, one document. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { after, before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { AttackDocument } from '../src/report/attack-report.ts'
import { formatDuration, parseDuration } from '../src/durations.ts'
import { UserError } from '../src/user-error.ts'
import { type Kill, runCli } from './run-cli.ts'
import { closedPort, httpServer, rawServer, type TestServer } from './load/servers.ts'

const CLI = fileURLToPath(new URL('../src/cli.ts', import.meta.url))

interface Ended {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

const meltlab = async (args: readonly string[], onStart?: (kill: Kill) => void): Promise<Ended> => {
  const { code, stdout, stderr } = await runCli(args, onStart && { onStart })
  return { code, out: stdout, err: stderr }
}

describe('meltlab attack', () => {
  let server: TestServer
  before(async () => {
    server = await httpServer((_, res) => res.end('ok'))
  })
  after(() => server.close())

  it('prints exactly one JSON document with --json', async () => {
    const { code, out, err } = await meltlab(['attack', server.url, '--rate', '100', '--duration', '500ms', '--json'])
    assert.equal(code, 0)
    assert.equal(err, '')
    const document = JSON.parse(out) as AttackDocument
    assert.equal(document.scheduled, 50)
    assert.equal(document.sent, 50)
    assert.equal(document.unsent, 0)
    assert.deepEqual(document.answered, { 200: 50 })
    assert.deepEqual(document.failed, {})
    for (const figures of [document.latencyMs, document.sendLagMs]) {
      assert.deepEqual(Object.keys(figures), ['mean', 'p50', 'p90', 'p95', 'p99', 'p999', 'max'])
      assert.ok(Object.values(figures).every(figure => typeof figure === 'number'))
    }
    assert.equal(typeof document.certified, 'boolean')
    assert.ok(Array.isArray(document.why))
  })

  it('prints a report for people', async () => {
    const { code, out } = await meltlab([
      'attack',
      server.url,
      '--users',
      '2',
      '--think',
      '20ms',
      '--duration',
      '500ms',
    ])
    assert.equal(code, 0)
    for (const word of [
      'Requests',
      'Rate',
      'Duration',
      'Latencies',
      'Bytes read',
      'Success',
      'Status codes',
      'Certified',
    ]) {
      assert.match(out, new RegExp(`^${word} `, 'm'))
    }
    for (const word of ['Transactions', 'Availability', 'Transaction rate', 'Concurrency', 'Longest', 'Shortest']) {
      assert.match(out, new RegExp(`^${word} `, 'm'))
    }
  })

  it('sends body and headers, ramps, and takes fresh connections', async () => {
    const seen = new Set<string>()
    const echo = await httpServer((req, res) => {
      seen.add(`${req.method} ${req.headers.a} ${req.headers.b} ${req.headers.connection}`)
      res.end()
    })
    const { code, out } = await meltlab([
      ...['attack', echo.url, '--rate', '10', '--ramp-to', '90', '--duration', '1s', '--fresh', '--json'],
      ...['--header', 'A: 1', '--header', 'B: x: y', '--body', 'hello', '--spacing', 'poisson', '--seed', '3'],
    ])
    await echo.close()
    assert.equal(code, 0)
    const document = JSON.parse(out) as AttackDocument
    assert.ok(document.scheduled > 20 && document.scheduled < 90)
    assert.deepEqual([...seen], ['POST 1 x: y close'])
  })

  it('ends at once on Ctrl-C, with what was measured, marked incomplete', async () => {
    let stop = (): void => {}
    let stoppedAt = 0
    let asked = 0
    const counting = await httpServer((_, res) => {
      res.end('ok')
      if (++asked === 50) stop()
    })
    const args = ['attack', counting.url, '--rate', '100', '--duration', '60s', '--json']
    const { code, out } = await meltlab(args, kill => {
      stop = () => {
        stoppedAt = Date.now()
        kill('SIGINT')
      }
    })
    await counting.close()
    assert.equal(code, 130)
    assert.ok(Date.now() - stoppedAt < 10_000)
    const document = JSON.parse(out) as AttackDocument
    assert.equal(document.incomplete, true)
    assert.equal(document.certified, false)
    assert.ok(document.answered['200']! > 20)
  })

  const url = 'http://127.0.0.1:9/'
  const mistakes: readonly [args: readonly string[], sentence: RegExp][] = [
    [[], /missing required argument 'url'/],
    [['foo'], /expected a URL such as http:\/\/127\.0\.0\.1:3000\/, got "foo"/],
    [['ftp://127.0.0.1/'], /expected a URL/],
    [['http://u:p@127.0.0.1/'], /Authorization header/],
    [[url, '--rat', '5'], /unknown option '--rat' \(did you mean --rate\?\)/],
    [[url, '--duration', '5'], /--duration needs a unit: 5 of what\?/],
    [[url, '--slo', 'soon'], /--slo must be a duration such as 500ms, 10s or 2m, got "soon"/],
    [[url, '--timeout', '0s'], /--timeout must be longer than zero/],
    [[url, '--duration', '99999h'], /--duration must be at most 576h, got "99999h"/],
    [[url, '--duration', '100h'], /durationMs must be from 1 to 86400000 ms/],
    [[url, '--rate', '5', '--users', '5'], /--rate and --users exclude each other/],
    [[url, '--users', '5', '--ramp-to', '9'], /--ramp-to needs --rate/],
    [[url, '--fresh', '--connections', '5'], /--fresh and --connections exclude each other/],
    [[url, '--rate', 'NaN'], /--rate must be a number from 0\.001 to 1000000, got "NaN"/],
    [[url, '--rate', '1e99'], /--rate must be a number/],
    [[url, '--rate', ''], /--rate must be a number/],
    [[url, '--rate', '-3'], /--rate must be a number/],
    [[url, '--users', '1.5'], /--users must be a whole number/],
    [[url, '--threads', '0'], /--threads must be a whole number from 1 to 256, got "0"/],
    [[url, '--spacing', 'odd'], /Allowed choices are even, poisson/],
    [[url, '--header', 'nonsense'], /--header must be "Name: value", got "nonsense"/],
    [[url, '--header', 'content-length: 3'], /header content-length is set by the generator itself/],
    [[url, '--method', 'GE T'], /method must be an HTTP method/],
    [[url, '--users', '2', '--threads', '3'], /threads must not exceed users/],
  ]
  it('meets every mistake with one sentence on stderr and exit code 2', async () => {
    for (const [args, sentence] of mistakes) {
      const { code, out, err } = await meltlab(['attack', ...args])
      assert.equal(code, 2, `${args.join(' ')}: ${err}`)
      assert.equal(out, '')
      assert.match(err, sentence)
      assert.match(err, /^meltlab: [^\n]+\.\n$/, 'one sentence')
    }
  })

  it('says in one sentence that nothing listens', async () => {
    const port = await closedPort()
    const { code, out, err } = await meltlab(['attack', `http://127.0.0.1:${port}/`])
    assert.equal(code, 2)
    assert.equal(out, '')
    assert.equal(err, `meltlab: 127.0.0.1:${port} refuses connections: is the server running?\n`)
  })

  it('says in one sentence that the server speaks no TLS', async () => {
    const plain = await rawServer(socket => socket.end('hello'))
    const { code, err } = await meltlab(['attack', `https://127.0.0.1:${plain.port}/`])
    await plain.close()
    assert.equal(code, 2)
    assert.match(err, /^meltlab: 127\.0\.0\.1:\d+ does not speak TLS as asked: .+\.\n$/)
  })

  it('shows help on stdout', () => {
    const { status, stdout } = spawnSync(process.execPath, [CLI, 'attack', '--help'], { encoding: 'utf8' })
    assert.equal(status, 0)
    assert.match(stdout, /--duration <duration> +how long \(default: 10s\)/)
  })
})

describe('durations', () => {
  it('are read with their unit', () => {
    const cases: [string, number][] = [
      ['500ms', 500],
      ['10s', 10_000],
      ['1.5s', 1500],
      ['.5s', 500],
      ['2m', 120_000],
      ['1h', 3_600_000],
      [' 3 S ', 3000],
    ]
    for (const [text, ms] of cases) assert.equal(parseDuration(text, '--x'), ms)
    for (const text of ['5', '5.', '', 's', '-5s', '5 days', '1e3ms', '0ms', 'Infinitys']) {
      assert.throws(() => parseDuration(text, '--x'), UserError, text)
    }
  })

  it('are written as they are read', () => {
    for (const text of ['500ms', '10s', '1.5s', '2m']) assert.equal(formatDuration(parseDuration(text, 'x')), text)
  })
})
