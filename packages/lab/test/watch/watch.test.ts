/** `meltlab watch`: what it shows of a real process, and how it ends. */
import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import type { ScenarioResult } from '../../src/report/result.ts'
import { freePort } from '../../src/launch/free-port.ts'
import { Readings, readTold, type Told } from '../../src/watch/readings.ts'
import type { Sample } from '../../src/watch/samples.ts'
import { type CliEnd, type CliOptions, runCli } from '../run-cli.ts'

const folder = mkdtempSync(join(tmpdir(), 'meltlab-watch-test-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const watch = (args: readonly string[], options?: CliOptions): Promise<CliEnd> =>
  runCli(['watch', '--out', folder, ...args], options)

function app(name: string, source: string): string {
  const file = join(folder, `${name}.mjs`)
  writeFileSync(file, source)
  return file
}

const SERVER = `
  import http from 'node:http'
  const server = http.createServer((q, r) => r.end('ok'))
  server.listen(0, '127.0.0.1', async () => {
    const until = Date.now() + 2500
    while (Date.now() < until) {
      await (await fetch('http://127.0.0.1:' + server.address().port)).text()
      const block = performance.now() + 30
      while (performance.now() < block);
      await new Promise(resolve => setTimeout(resolve, 30))
    }
    console.log('my own output')
    process.exit(Number(process.argv[2] ?? 0))
  })
`

/** Takes longer than a probe may, but is never silent for so long. */
const DRIP = `
  import http from 'node:http'
  const server = http.createServer((q, r) => { setInterval(() => r.write('.'), 100) })
  server.listen(Number(process.argv[2]), '127.0.0.1')
  setTimeout(() => process.exit(0), 13_000)
`

const samplesOf = (result: ScenarioResult): Sample[] => (result.measured as { samples: Sample[] }).samples

describe('meltlab watch', () => {
  it('shows memory, CPU, loop and door of a process, and lets its output through', async () => {
    const {
      code,
      stdout: out,
      stderr: err,
    } = await watch(['--interval', '500ms', '--protect', '--json', '--', process.execPath, app('server', SERVER)])
    assert.equal(code, 0, err)
    assert.match(err, /my own output/)
    const result = JSON.parse(out) as ScenarioResult
    const samples = samplesOf(result)
    assert.ok(samples.length >= 2, `${samples.length} samples`)
    const inside = samples.map(sample => sample.inside).filter(each => each !== null)
    assert.ok(inside.length >= 2)
    assert.ok(
      inside.some(each => each.loopDelayMaxMs > 15),
      JSON.stringify(inside),
    )
    assert.ok(
      inside.some(each => each.guard !== undefined && each.guard.admittedPerS > 1),
      JSON.stringify(inside),
    )
    for (const sample of samples) assert.ok(sample.rssBytes > 10e6 && sample.cpu >= 0)
    assert.ok(readdirSync(folder).some(name => name.endsWith('-watch')))
    assert.deepEqual(
      result.plots.map(plot => plot.title),
      ['Memory', 'CPU and loop', 'How late', 'At the door'],
    )
  })

  it('does not protect unless asked, and hands the exit code on', async () => {
    const {
      code,
      stdout: out,
      stderr: err,
    } = await watch(['--interval', '500ms', '--', process.execPath, app('server', SERVER), '7'])
    assert.equal(code, 7)
    assert.match(out, /my own output/)
    assert.match(out, /loop busy/)
    assert.doesNotMatch(out, /in service/)
    assert.match(err, /ended with exit code 7/)
  })

  it('ends the command on Ctrl-C, keeps what was seen, and ends with 130', async () => {
    const waits = app('waits', `console.error('here'); setInterval(() => {}, 1000)`)
    const {
      code,
      stdout: out,
      stderr: err,
    } = await watch(['--interval', '250ms', '--', process.execPath, waits], {
      onStderr: (text, kill) => {
        if (text.includes('here')) setTimeout(kill, 1200, 'SIGINT')
      },
    })
    assert.equal(code, 130, err)
    assert.match(out, /INCOMPLETE/)
  })

  it('probes a URL, also one that does not answer', async () => {
    const { stdout } = await watch([
      '--interval',
      '300ms',
      '--url',
      'http://127.0.0.1:1/',
      '--json',
      '--',
      process.execPath,
      '-e',
      'setTimeout(() => {}, 3000)',
    ])
    assert.equal(samplesOf(JSON.parse(stdout) as ScenarioResult)[0]!.probeMs, null)
  })

  it('gives up a probe whose answer drips', { timeout: 30_000 }, async () => {
    const port = await freePort()
    const url = `http://127.0.0.1:${port}/`
    const args = ['--interval', '300ms', '--url', url, '--json', '--', process.execPath, app('drip', DRIP), `${port}`]
    const samples = samplesOf(JSON.parse((await watch(args)).stdout) as ScenarioResult)
    // Without an end of its own the probe would last as long as the command, and no sample come after it.
    assert.ok(samples.at(-1)!.atMs > 9000, JSON.stringify(samples.map(({ atMs, probeMs }) => [atMs, probeMs])))
  })

  for (const [args, complaint] of [
    [['--interval', '1', '--', 'node'], /needs a unit/],
    [['--interval', '1ms', '--', 'node'], /at least 250ms/],
    [['--interval', '9999h', '--', 'node'], /--interval must be at most 576h/],
    [['--url', 'here', '--', 'node'], /--url must be an http/],
    [['--', ''], /command is empty/],
    [['--', 'no-such-program'], /there is no such program/],
    // However slowly it starts, it has ended before that.
    [
      ['--interval', '1h', '--', process.execPath, '-e', '0'],
      /exit code 0 before the first sample; a shorter --interval/,
    ],
    [['--interval', '250ms', '--', 'sleep', '3'], /sleep is no Node program, so only its memory and CPU/],
    [
      [
        '--interval',
        '250ms',
        '--url',
        'http://127.0.0.1:1/',
        '--',
        process.execPath,
        '-e',
        'setTimeout(() => {}, 3000)',
      ],
      /nothing answered at http:\/\/127\.0\.0\.1:1\/; --url must be/,
    ],
    [[], /missing required argument/],
  ] as const) {
    it(`refuses ${args.join(' ')}`, async () => {
      const { code, stderr: err } = await watch(args)
      assert.equal(code, 2, err)
      assert.match(err, complaint)
    })
  }
})

describe('the readings', () => {
  const told = (change: Partial<Told>): Told => ({
    pid: 1,
    heapUsed: 10,
    utilization: 0.5,
    loopDelay: { p99Ms: 1, maxMs: 2 },
    guards: 1,
    inflight: 1,
    queued: 0,
    limit: 4,
    admitted: 0,
    shed: 0,
    ...change,
  })

  it('add up over processes, keep the worst of the loops, and turn counts into rates', () => {
    const readings = new Readings()
    const [one, other] = [{}, {}]
    readings.add(told({ admitted: 100, shed: 10 }), one)
    readings.add(told({ admitted: 200, shed: 30, loopDelay: { p99Ms: 9, maxMs: 20 } }), one)
    readings.add(told({ pid: 2, utilization: 0.9, admitted: 50 }), other)
    const inside = readings.take(2)!
    assert.deepEqual(inside.guard, { inflight: 2, queued: 0, limit: 8, admittedPerS: 125, shedPerS: 15 })
    assert.deepEqual([inside.processes, inside.heapBytes, inside.utilization, inside.loopDelayMaxMs], [2, 20, 0.9, 20])
    assert.equal(readings.take(1), null)
    readings.add(told({ admitted: 201, shed: 30 }), one)
    assert.equal(readings.take(1)!.guard!.admittedPerS, 1)
  })

  it('tell the worker threads of a process apart', () => {
    const readings = new Readings()
    const [main, worker] = [{}, {}]
    for (const admitted of [100, 110]) {
      readings.add(told({ admitted }), main)
      readings.add(told({ guards: 0, inflight: 0, limit: 0 }), worker)
      const inside = readings.take(1)!
      assert.deepEqual([inside.processes, inside.heapBytes], [1, 20])
      assert.equal(inside.guard!.limit, 4)
      assert.equal(inside.guard!.admittedPerS, admitted === 100 ? 100 : 10)
    }
  })

  it('are none of a line that is not what it should be', () => {
    for (const line of ['', 'null', '{}', '{"pid":1', JSON.stringify({ ...told({}), inflight: 'many' })]) {
      assert.equal(readTold(line), undefined, line)
    }
  })
})
