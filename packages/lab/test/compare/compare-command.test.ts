/** `meltlab compare` as its user sees it. */
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import type { Comparison } from '../../src/compare/compare.ts'
import { attackJson } from '../../src/results/attack-document.ts'
import { checkAttack, parseJson } from '../../src/results/read-attack.ts'
import { httpServer, type TestServer } from '../load/servers.ts'
import { madeResult } from '../report/made-result.ts'
import { type Made, madeAttack } from '../results/made-attack.ts'
import { runCli, runEach } from '../run-cli.ts'

describe('meltlab compare', () => {
  let folder = ''
  let server: TestServer
  before(async () => {
    folder = mkdtempSync(path.join(tmpdir(), 'compare-'))
    server = await httpServer((_, res) => res.end('ok'))
  })
  after(async () => {
    rmSync(folder, { recursive: true })
    await server.close()
  })

  /** Creates a folder with a result for each round: `of(n)` for the n-th. */
  const side = (name: string, offset: number, of: (round: number) => Made): string => {
    const place = path.join(folder, name)
    mkdirSync(place)
    for (let round = 0; round < 6; round++) {
      const startedAt = new Date(Date.UTC(2026, 10, 23, 10, 2 * round + offset)).toISOString()
      writeFileSync(path.join(place, `${round}.json`), attackJson(madeAttack({ ...of(round), origin: { startedAt } })))
    }
    return place
  }

  it('compares two folders, and exits with code 3 only with --fail-on-regression if B is worse', async () => {
    const a = side('a', 0, round => ({ okMs: [10 + round / 50, 11, 12] }))
    const b = side('b', 1, round => ({ okMs: [20 + round / 50, 22, 24] }))
    const plain = await runCli(['compare', a, b])
    assert.deepEqual([plain.code, plain.stderr], [0, ''])
    assert.match(plain.stdout, /^p50 .* B is worse$/m)
    assert.equal((await runCli(['compare', a, b, '--fail-on-regression'])).code, 3)
    const better = await runCli(['compare', b, a, '--fail-on-regression', '--json'])
    assert.equal(better.code, 0)
    const comparison = JSON.parse(better.stdout) as Comparison
    assert.deepEqual([comparison.kind, comparison.version, comparison.rounds], ['comparison', 1, 6])
    assert.equal(comparison.figures.find(({ name }) => name === 'p50')!.verdict, 'better')
  })

  it('exits with code 4 if noise leaves a figure undecided, but only with --fail-on-undecided', async () => {
    const noise = [1, 1.3, 0.8, 1.2, 0.75, 1.1]
    const a = side('noisy-a', 0, round => ({ okMs: [10 * noise[round]!] }))
    const b = side('noisy-b', 1, round => ({ okMs: [11 * noise[5 - round]!] }))
    const plain = await runCli(['compare', a, b, '--fail-on-regression'])
    assert.deepEqual([plain.code, /^Undecided: only more than ±\d+ %/m.test(plain.stdout)], [0, true], plain.stdout)
    assert.equal((await runCli(['compare', a, b, '--fail-on-regression', '--fail-on-undecided'])).code, 4)
    const [c, d] = [0, 1].map(offset => side(`quiet-${offset}`, offset, () => ({ okMs: [10] }))) as [string, string]
    assert.equal((await runCli(['compare', c, d, '--fail-on-undecided'])).code, 0)
  })

  it('alternates A and B, keeps each result with --keep, and exits with code 2 if they are unreliable', async () => {
    const kept = path.join(folder, 'kept')
    const { code, stdout, stderr } = await runCli([
      ...['compare', '--a', server.url, '--b', server.url.replace('127.0.0.1', 'localhost'), '--users', '1'],
      ...['--rounds', '5', '--duration', '200ms', '--warm-up', '10ms', '--keep', kept],
    ])
    // Whether a run is certified depends on the machine.
    if (code === 0) assert.match(stdout, /5 rounds/)
    else assert.deepEqual([code, /are unreliable/.test(stderr)], [2, true], stderr)
    const order = [...stderr.matchAll(/^round (\d) of 5 {2}([AB])/gm)].map(([, round, name]) => `${round}${name}`)
    assert.deepEqual(order, ['1A', '1B', '2B', '2A', '3A', '3B', '4B', '4A', '5A', '5B'])
    const again = await runCli(['compare', '--a', server.url, '--b', server.url, '--users', '1', '--keep', kept])
    assert.deepEqual([again.code, /is not empty/.test(again.stderr)], [2, true], again.stderr)
    for (const name of ['a', 'b']) {
      const files = readdirSync(path.join(kept, name))
      assert.deepEqual(files, ['0001.json', '0002.json', '0003.json', '0004.json', '0005.json'])
      for (const file of files) checkAttack(parseJson(readFileSync(path.join(kept, name, file), 'utf8'), file), file)
    }
  })

  it('--until ends by itself when it can tell', async t => {
    // Half of this wait is 300 ms, which is more than a busy machine adds.
    const steady = await httpServer((_, res) => void setTimeout(() => res.end('ok'), 600))
    t.after(() => steady.close())
    const { origin } = new URL(steady.url)
    const { code, stderr } = await runCli([
      ...['compare', '--a', origin, '--b', origin, '--until', '50%', '--rounds', '40', '--rate', '30'],
      ...['--connections', '40', '--duration', '500ms', '--warm-up', '100ms', '--slo', '5s', '--fail-on-undecided'],
    ])
    assert.equal(code, 0, stderr)
    const last = Math.max(...[...stderr.matchAll(/^round (\d+) of /gm)].map(([, round]) => Number(round)))
    assert.ok(last >= 5 && last < 40, stderr)
  })

  it('meltlab report prints the steps of an attack; compare refuses them, as it needs a file per run', async () => {
    const file = path.join(folder, 'steps.json')
    writeFileSync(file, `{ "steps": [${attackJson(madeAttack())},${attackJson(madeAttack({ okMs: [1] }))}] }`)
    const { code, stdout } = await runCli(['report', file])
    assert.equal(code, 0)
    assert.match(stdout, /^ *4\/s .*\n *1\/s /m)
    const { stderr } = await runCli(['compare', file, file])
    assert.match(
      stderr,
      /steps\.json contains the 2 runs of attack --steps; compare needs a file for each run: measure one/,
    )
  })

  it('meltlab report does not overwrite the result file with its page', async () => {
    const file = path.join(folder, 'tide.txt')
    const text = JSON.stringify(madeResult())
    writeFileSync(file, text)
    const { code, stdout } = await runCli(['report', file])
    assert.deepEqual([code, stdout, readFileSync(file, 'utf8')], [0, `${path.join(folder, 'tide.html')}\n`, text])
  })

  it('meltlab report prints no control characters of a result file', async () => {
    const file = path.join(folder, 'colour.json')
    const why = ['\u001b[31mred'] as const
    const certificate = { code: 'late', doubts: ['late'], intervals: {} } as const
    writeFileSync(file, attackJson(madeAttack({ outcome: { certified: false, why, certificate } })))
    const { code, stdout } = await runCli(['report', file])
    assert.deepEqual([code, /\[31mred/.test(stdout), stdout.includes('\u001b')], [0, true, false])
  })

  it('meltlab report prints a result as meltlab attack prints it', async () => {
    const file = path.join(folder, 'one.json')
    writeFileSync(file, attackJson(madeAttack({ okMs: [1, 2, 3] })))
    const { code, stdout, stderr } = await runCli(['report', file])
    assert.deepEqual([code, stderr], [0, ''])
    assert.match(stdout, /^Requests +12 scheduled, 12 sent$/m)
    assert.match(stdout, /^Certified +yes/m)
  })

  const mistakes: readonly [args: readonly string[], sentence: string][] = [
    [
      ['--a', 'node x.js', '--b', 'node y.js', '--users', '1', '--until', '5'],
      '--until must be a share from above 0% to 100%, such as 5%, got 5',
    ],
    [[], 'two results are needed, or --a and --b with two commands; meltlab compare --help'],
    [['nowhere.json', 'nowhere.json'], 'nowhere.json does not exist; expected a result, or a folder with results'],
    [['--a', 'node x.js', '--rate', '5'], '--a and --b belong together; one is missing'],
    [['--a', 'node x.js', '--b', 'node y.js'], '--rate or --users is required: it sets the load for both commands'],
    [
      ['--a', 'node x.js', '--b', 'nothing-of-that-name y', '--users', '1'],
      "there is no program 'nothing-of-that-name' to start (--b)",
    ],
    [
      ['--a', 'http://127.0.0.1:1/x', '--b', 'node y.js', '--users', '1'],
      '--a must be the origin of a server, such as http://127.0.0.1:1; use --path for the path',
    ],
    [
      ['--a', 'node x.js', '--b', 'node y.js', '--users', '1', '--rounds', '4'],
      '--rounds must be a whole number from 5 to 1000, got "4".',
    ],
    [
      ['a.json', 'b.json', '--warm-up', '1s'],
      '--warm-up works only with --a and --b; stored results are not measured again',
    ],
    [
      ['a.json', 'b.json', '--insecure'],
      '--insecure works only with --a and --b; stored results are not measured again',
    ],
    [
      ['--a', 'node x.js', '--b', 'node y.js', '--users', '1', '--cacert', 'nowhere.pem', '--insecure'],
      '--insecure and --cacert exclude each other: the first trusts every server, the second those of an authority.',
    ],
    [['a.json', '--a', 'node x.js', '--b', 'node y.js'], 'results (a.json) and --a, --b exclude each other'],
    [
      ['--a', 'node x.js', '--b', 'node y.js', '--users', '1', '--duration', '30h'],
      'durationMs must be from 1 to 86400000, got 108000000.',
    ],
    [
      ['--a', 'node x.js', '--b', 'node y.js', '--users', '1', '--header', 'a b: c'],
      'header names must be HTTP tokens, got "a b".',
    ],
    [
      ['--a', 'node x.js', '--b', 'node y.js', '--rate', '1', '--duration', '100ms'],
      '1/s for 100ms schedules less than one request: use a higher rate or a longer duration',
    ],
    [
      ['--a', 'node x.js', '--b', 'node y.js', '--users', '1', '--method', 'GTE'],
      '--method: expected an HTTP method such as GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS, got "GTE".',
    ],
  ]
  it('answers every usage error with one sentence on stderr and exit code 2', async () => {
    const ends = await runEach(mistakes.map(([args]) => ['compare', ...args]))
    assert.deepEqual(
      ends,
      mistakes.map(([, sentence]) => ({ code: 2, stdout: '', stderr: `meltlab: ${sentence}\n` })),
    )
  })
})
