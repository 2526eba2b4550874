/** `meltlab attack` as its user sees it: exit codes, sentences, one document. */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { createServer as createTls } from 'node:tls'
import { after, before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { AttackDocument } from '../src/results/attack-document.ts'
import { formatDuration, parseDuration } from '../src/durations.ts'
import { checkAttack } from '../src/results/read-attack.ts'
import { headersOf } from '../src/option-values.ts'
import { UserError } from '../src/user-error.ts'
import { type Kill, runCli, runEach } from './run-cli.ts'
import { SERVER } from './load/certificates.ts'
import { closedPort, http2Server, httpServer, rawServer, type TestServer } from './load/servers.ts'

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
    // checkAttack() verifies the document against the schema of this version.
    assert.equal(checkAttack(document, 'stdout').seconds.length, 1)
  })

  it('prints a human-readable report without --json', async () => {
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

  it('exits with code 3 if an expectation is missed, and prints each with its measured value', async () => {
    const load = ['attack', server.url, '--rate', '50', '--duration', '200ms', '--quiet']
    const { code, out, err } = await meltlab([...load, '--expect', 'max>1h', '--expect', 'errors<=0%'])
    assert.deepEqual([code, err], [3, ''])
    assert.match(out, /^Expected +✗ max > 60m: \S+m?s/m)
    assert.match(out, /^ +✓ errors <= 0%: 0%/m)
    const met = await meltlab([...load, '--expect', 'shed<=0%', '--json'])
    assert.deepEqual([met.code, met.err], [0, ''])
    const [judged] = (JSON.parse(met.out) as AttackDocument).expectations
    assert.deepEqual([judged!.expected, judged!.met, judged!.value, judged!.unit], ['shed <= 0%', true, 0, '%'])
    const missed = await meltlab([...load, '--expect', 'max>1h', '--json'])
    assert.equal(missed.code, 3)
    assert.match(missed.err, /^meltlab: missed at 50\/s: max > 60m: .*\n$/)
  })

  it('writes the report as an HTML page, without the credentials it was given', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'meltlab-page-'))
    const page = join(folder, 'page.html')
    const { code, out, err } = await meltlab([
      ...['attack', server.url, '--rate', '20', '--duration', '200ms', '--quiet', '--html', page],
      ...['--header', 'Authorization: Bearer s3cret', '--header', 'Accept: text/html'],
    ])
    const html = readFileSync(page, 'utf8')
    rmSync(folder, { recursive: true })
    assert.deepEqual([code, err], [0, `${page}\n`])
    assert.match(out, /^Requests /)
    assert.match(html, /^<!doctype html>/)
    assert.match(html, /Accept: text\/html/)
    assert.doesNotMatch(html, /s3cret/)
  })

  it('keeps the results in a temporary file when the output cannot be written', {
    skip: process.platform !== 'linux',
  }, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'meltlab-full-'))
    const full = openSync('/dev/full', 'w')
    const load = ['attack', server.url, '--rate', '20', '--duration', '100ms', '--quiet']
    const kept = async (stdout: 'ignore' | number, args: readonly string[]): Promise<AttackDocument> => {
      const child = spawn(process.execPath, [CLI, ...load, ...args], {
        stdio: ['ignore', stdout, 'pipe'],
        env: { ...process.env, TMPDIR: folder },
      })
      const [said, [code]] = await Promise.all([text(child.stderr!), once(child, 'close')])
      assert.equal(code, 1, said)
      assert.match(said, /no space left on device|the disk is full/)
      const [, file] = /the results are in (\S+)$/m.exec(said) ?? assert.fail(said)
      const document = checkAttack(JSON.parse(readFileSync(file!, 'utf8')), file!)
      rmSync(file!)
      return document
    }
    assert.equal((await kept(full, ['--json'])).sent, 2)
    assert.equal((await kept('ignore', ['--html', '/dev/full'])).sent, 2)
    closeSync(full)
    rmSync(folder, { recursive: true })
  })

  it('--steps runs the rates one after the other, and judges and prints each in its own row', async () => {
    const steps = [
      'attack',
      server.url,
      '--steps',
      '20,40',
      '--duration',
      '200ms',
      '--quiet',
      '--expect',
      'goodput>25/s',
    ]
    const { code, out } = await meltlab(steps)
    assert.equal(code, 3)
    assert.match(out, /^ *20\/s {2}.*\n *40\/s {2}/m)
    assert.match(out, /✗ at 20\/s, goodput > 25\/s: 20\/s/)
    const json = await meltlab([...steps, '--json'])
    assert.equal(json.code, 3)
    const document = JSON.parse(json.out) as { readonly steps: readonly AttackDocument[] }
    assert.deepEqual(
      document.steps.map(step => [step.scheduled, step.expectations.length]),
      [
        [4, 1],
        [8, 1],
      ],
    )
  })

  it('sends the given headers and body at a ramped Poisson rate, on a new connection per request', async () => {
    const seen = new Set<string>()
    const echo = await httpServer((req, res) => {
      seen.add(`${req.method} ${req.headers.a} ${req.headers.b} ${req.headers.connection}`)
      res.end()
    })
    const { code, out } = await meltlab([
      ...['attack', echo.url, '--rate', '10', '--ramp-to', '90', '--duration', '1s', '--fresh', '--json'],
      ...['--header', 'A: 1', '--header', 'B: x: y', '--body', 'hello', '--spacing', 'poisson'],
    ])
    await echo.close()
    assert.equal(code, 0)
    const document = JSON.parse(out) as AttackDocument
    assert.ok(document.scheduled > 20 && document.scheduled < 90)
    assert.deepEqual([...seen], ['POST 1 x: y close'])
  })

  it('sends targets from stdin round robin, fills in their fields, and reports figures for each target', async () => {
    const seen: string[] = []
    const echo = await httpServer((req, res) => {
      seen.push(`${req.method} ${req.url} ${req.headers['x-id']}`)
      res.writeHead(req.url!.startsWith('/bad') ? 500 : 200).end()
    })
    const lines = [`GET ${echo.url}a?n={{seq}}`, 'X-Id: {{turn 1}}', '', `PUT ${echo.url}bad`]
    const { code, stdout } = await runCli(
      ['attack', '--targets', '-', '--rate', '20', '--duration', '200ms', '--json'],
      // Stdin is written late.
      { onStart: (_, stdin) => setTimeout(() => stdin.end(lines.join('\n')), 600) },
    )
    await echo.close()
    assert.equal(code, 0)
    assert.deepEqual(seen.sort(), [
      'GET /a?n=0 000000000',
      'GET /a?n=2 000000002',
      'PUT /bad undefined',
      'PUT /bad undefined',
    ])
    const { targets } = JSON.parse(stdout) as AttackDocument
    assert.deepEqual(
      targets.map(({ method, answered }) => [method, answered]),
      [
        ['GET', { 200: 2 }],
        ['PUT', { 500: 2 }],
      ],
    )
  })

  it('ends at once on Ctrl-C, and prints what was measured, marked incomplete', async () => {
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
    [[], /attack needs one of a URL, --targets FILE, --har FILE and --journey FILE, got none/],
    [['--targets', '/none/there'], /--targets \/none\/there cannot be read: ENOENT/],
    [[url, '--method', 'GTE'], /expected an HTTP method such as GET.*got "GTE"/],
    [[url, '--body', '{{sequence}}'], /\{\{sequence\}\} is not one of \{\{seq\}\}/],
    [[url, '--cacert', '/none/there'], /--cacert \/none\/there cannot be read/],
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
    [[url, '--steps', '5,x'], /--steps must be a number from 0\.001 to 1000000, got "x"/],
    [[url, '--steps', '5,'], /--steps must be a number/],
    [[url, '--steps', '5,9', '--users', '5'], /--steps and --users exclude each other/],
    [[url, '--steps', '5,9', '--rate', '5'], /--steps and --rate exclude each other/],
    [[url, '--html', '/none/page.html'], /\/none\/page\.html cannot be written .*; name another file with --html/],
    [[url, '--html', tmpdir()], /--html must be a file/],
    [[url, '--expect', 'p99<250'], /--expect p99 needs a unit/],
    [[url, '--expect', 'speed>9'], /--expect cannot parse "speed>9": .*p99\.9.*goodput/],
    [[url, '--streams', '5'], /--streams needs --http2\.$/m],
    [[url, '--http2', '--streams', '5', '--fresh'], /--streams needs --http2 without --fresh/],
    [[url, '--http2', '--export', 'k6'], /--export k6 and --http2 exclude each other/],
    [[url, '--http2', '--header', 'TE: trailers'], /header TE does not exist in HTTP\/2/],
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
    [[url, '--method', 'GE T'], /expected an HTTP method/],
    [[url, '--header', 'Host: a', '--header', 'host: b'], /a request has one Host header, got 2/],
    [
      [url, '--rate', '1000000', '--threads', '1'],
      /1,000,000\/s cannot be sent from here: a core sends at most 250,000\/s/,
    ],
    [[url, '--users', '2', '--threads', '3'], /threads must not exceed users/],
  ]
  it('answers every usage error with one sentence on stderr and exit code 2', async () => {
    const ends = await runEach(mistakes.map(([args]) => ['attack', ...args]))
    for (const [n, { code, stdout, stderr }] of ends.entries()) {
      const [args, sentence] = mistakes[n]!
      assert.equal(code, 2, `${args.join(' ')}: ${stderr}`)
      assert.equal(stdout, '')
      assert.match(stderr, sentence)
      assert.match(stderr, /^meltlab: [^\n]+\n$/, 'one sentence')
    }
  })

  it('reports in one sentence that the server refuses connections', async () => {
    const port = await closedPort()
    const { code, out, err } = await meltlab(['attack', `http://127.0.0.1:${port}/`])
    assert.equal(code, 2)
    assert.equal(out, '')
    assert.equal(err, `meltlab: 127.0.0.1:${port} refuses connections: is the server running?\n`)
  })

  it('reports in one sentence that the server does not speak TLS', async () => {
    const plain = await rawServer(socket => socket.end('hello'))
    const { code, err } = await meltlab(['attack', `https://127.0.0.1:${plain.port}/`])
    await plain.close()
    assert.equal(code, 2)
    assert.match(err, /^meltlab: 127\.0\.0\.1:\d+ cannot be reached with these TLS options: .+\.\n$/)
  })

  it('suggests https when a server that requires TLS answers nothing without it', async () => {
    const secure = createTls(SERVER).listen(0, '127.0.0.1')
    await once(secure, 'listening')
    const at = `127.0.0.1:${(secure.address() as AddressInfo).port}`
    const load = ['--rate', '20', '--duration', '200ms', '--quiet']
    const plain = await meltlab(['attack', `http://${at}/`, ...load])
    const untrusted = await meltlab(['attack', `https://${at}/`, ...load])
    secure.close()
    assert.deepEqual(
      [plain.code, plain.err],
      [2, `meltlab: ${at} uses TLS, so nothing was answered: use https://${at}.\n`],
    )
    assert.equal(untrusted.code, 2)
    assert.match(untrusted.err, /: --cacert FILE names .*; --insecure trusts any certificate\.\n$/)
  })

  it('speaks HTTP/2, and reports before the load when a server does not support it', async () => {
    const h2 = await http2Server(stream => {
      stream.respond({ ':status': 200 })
      stream.end('ok')
    })
    const load = ['--http2', '--streams', '3', '--rate', '20', '--duration', '200ms', '--json']
    const { code, out } = await meltlab(['attack', h2.url, ...load, '--expect', 'goodput>=0%'])
    await h2.close()
    assert.equal(code, 0)
    const document = checkAttack(JSON.parse(out), 'stdout')
    assert.deepEqual([document.answered, document.plan.http2], [{ 200: 4 }, { streams: 3 }])
    const { hostname, port } = new URL(server.url)
    const plain = await meltlab(['attack', server.url, ...load])
    assert.deepEqual(
      [plain.code, plain.err],
      [2, `meltlab: ${hostname}:${port} does not speak HTTP/2 without TLS (h2c): leave out --http2.\n`],
    )
    const secure = createTls({ ...SERVER, ALPNProtocols: ['http/1.1'] }, socket => socket.on('error', () => {}))
    await new Promise<void>(resolve => secure.listen(0, '127.0.0.1', resolve))
    const at = `127.0.0.1:${(secure.address() as { port: number }).port}`
    const tls = await meltlab(['attack', `https://${at}/`, '--insecure', ...load])
    secure.close()
    assert.deepEqual(
      [tls.code, tls.err],
      [2, `meltlab: ${at} does not speak HTTP/2 (it offers no h2 in TLS): leave out --http2.\n`],
    )
  })

  it('prints help on stdout', () => {
    const { status, stdout } = spawnSync(process.execPath, [CLI, 'attack', '--help'], { encoding: 'utf8' })
    assert.equal(status, 0)
    assert.match(stdout, /--duration <duration> +duration of the load \(default: 10s\)/)
  })
})

describe('headersOf()', () => {
  it('collects headers of the same name into a list, ignoring case', () => {
    assert.deepEqual(headersOf(['Cookie: a', 'X: y: z', 'cookie: b', 'COOKIE: c']), {
      Cookie: ['a', 'b', 'c'],
      X: 'y: z',
    })
  })
})

describe('durations', () => {
  it('are parsed with their unit, and refused without one', () => {
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

  it('are formatted as they were typed', () => {
    for (const text of ['500ms', '10s', '1.5s', '2m']) assert.equal(formatDuration(parseDuration(text, 'x')), text)
  })
})
