/** `meltlab audit` as a process of its own: all that is planted, nothing where nothing is, and bad input. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Cause } from '../../src/audit/facts.ts'
import type { AuditResult } from '../../src/audit/result.ts'
import { type CliEnd, type CliOptions, carrying, runCli } from '../run-cli.ts'
import { type Dependencies, startDependencies } from './dependencies.ts'

const here = import.meta.dirname
const app = (name: string): string => path.join(here, 'apps', name)
const melted = (name: string): string => fileURLToPath(new URL(`../melt/apps/${name}.mjs`, import.meta.url))

interface Ended extends CliEnd {
  readonly strays: readonly string[]
}

let runs = 0
async function audit(args: readonly string[], options: CliOptions = {}): Promise<Ended> {
  const mark = `audit-${process.pid}-${runs++}`
  const ended = await runCli(['audit', ...args], { ...options, mark })
  return { ...ended, strays: await carrying(mark) }
}

const resultOf = ({ stdout, stderr }: CliEnd): AuditResult => {
  assert.notEqual(stdout, '', stderr)
  return JSON.parse(stdout) as AuditResult
}

describe('meltlab audit of real apps', () => {
  let dependencies: Dependencies
  const folder = mkdtempSync(path.join(tmpdir(), 'meltlab-audit-test-'))
  before(async () => {
    dependencies = await startDependencies()
    Object.assign(process.env, dependencies.env)
  })
  after(async () => {
    await dependencies.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  it('finds everything that is planted, and where', async () => {
    const routes = [
      'loadPrice',
      'loadStock',
      'loadThroughNarrowAgent',
      'loadUser',
      'loadFriends',
      'loadOrders',
      'hashPassword',
      'log',
    ]
    const paths = routes.flatMap(route => ['--path', `/${route}`])
    const ended = await audit(['--json', ...paths, '--', process.execPath, app('planted.mjs')])
    const { findings, worst, notes, requests } = resultOf(ended)
    const found = findings.map(({ cause, where }) => [cause, /\((\w+)\)$/.exec(where ?? '')?.[1] ?? null])
    const expected: [Cause, string | null][] = [
      ['loop-held', 'hashPassword'],
      ['fetch-unbounded', 'loadPrice'],
      ['http-unbounded', 'get'],
      ['pg-query-unbounded', 'loadFriends'],
      ['pg-query-unbounded', 'loadUser'],
      ['mysql-query-unbounded', 'loadOrders'],
      ['pg-pool-endless', 'loadFriends'],
      ['pg-pool-endless', 'loadUser'],
      ['mysql-pool-endless', 'loadOrders'],
      ['agent-endless', 'get'],
      ['stdout-writes', 'log'],
      ['server-timeouts', null],
      ['no-drain', null],
    ]
    assert.deepEqual(found, expected, ended.stdout)
    for (const { where } of findings.slice(0, 11)) assert.match(where!, /apps\/planted\.mjs:\d+ \(/)
    // Each of one call, whoever's connection it came on.
    const times = (cause: Cause, name: string) =>
      findings.find(each => each.cause === cause && each.where?.includes(name))?.times
    // The last one may not have its connection yet.
    const [queries, waits] = [times('pg-query-unbounded', 'loadUser')!, times('pg-pool-endless', 'loadUser')!]
    assert.ok(Math.abs(queries - waits) <= 1, `${queries} queries, ${waits} waits`)
    assert.equal(worst, 'melts')
    assert.equal(ended.code, 3)
    assert.deepEqual(notes, [])
    assert.ok(requests > 20, `${requests}`)
    assert.deepEqual(ended.strays, [])
  })

  it('is silent on Express and CommonJS, under npm start and meltproof/register', async () => {
    const scripts = { start: `node --import ${import.meta.resolve('meltproof/register')} ${app('clean-express.cjs')}` }
    const packageFile = path.join(folder, 'package.json')
    writeFileSync(packageFile, JSON.stringify({ name: 'clean', scripts }))
    const paths = ['/', '/user', '/price', '/stock', '/signal', '/listener'].flatMap(each => ['--path', each])
    const ended = await audit(['--duration', '5s', ...paths, '--', 'npm', 'start', '--prefix', folder])
    assert.match(
      ended.stdout,
      /^nothing found, in [\d,]+ requests to \/, \/user,\s+\/price,\s+\/stock,\s+\/signal,\s+\/listener\.\n$/,
      ended.stderr,
    )
    assert.equal(ended.code, 0, ended.stderr)
    assert.deepEqual(ended.strays, [])
  })

  it('is silent on Fastify, TypeScript and ES modules, where meltproof sets the bounds', async () => {
    const paths = ['/', '/user', '/orders', '/price'].flatMap(each => ['--path', each])
    const ended = await audit(['--json', '--duration', '5s', ...paths, '--', process.execPath, app('clean-fastify.ts')])
    const { findings, incomplete, worst } = resultOf(ended)
    assert.deepEqual(findings, [])
    assert.equal(incomplete, false)
    assert.equal(worst, null)
    assert.equal(ended.code, 0, ended.stderr)
  })

  it('does not count what is refused after SIGTERM as errors', async () => {
    const ended = await audit(['--json', '--duration', '5s', '--', process.execPath, app('slow-drain.mjs')])
    const { findings, notes } = resultOf(ended)
    assert.deepEqual(findings, [])
    assert.deepEqual(notes, [])
  })
})

describe('meltlab audit ends with one sentence', () => {
  const refused = (ended: Ended, words: RegExp): void => {
    assert.match(ended.stderr.slice(ended.stderr.lastIndexOf('meltlab: ')), words)
    assert.equal(ended.code, 2, ended.stderr)
    assert.equal(ended.stdout, '')
    assert.deepEqual(ended.strays, [])
    assert.doesNotMatch(ended.stderr, /fault of meltlab|\n {4}at /)
  }
  const node = process.execPath

  it('before anything starts', async () => {
    for (const [args, words] of [
      [[], /a command is needed/],
      [['--', 'nodee', 'x.js'], /there is no program 'nodee'/],
      [['--duration', '10', '--', node, 'x.js'], /--duration needs a unit/],
      [['--duration', '1s', '--', node, 'x.js'], /--duration must be at least 5s/],
      [['--path', 'search', '--', node, 'x.js'], /--path must start with a slash/],
      [['--users', '0', '--', node, 'x.js'], /--users must be a whole number/],
      [['--usres', '1', '--', node, 'x.js'], /did you mean --users/],
    ] as const) {
      refused(await audit(args), words)
    }
  })

  it('for a command that is no Node program', async () => {
    const listens = 'import socket,time\ns=socket.socket();s.bind(("127.0.0.1",0));s.listen();time.sleep(60)'
    refused(await audit(['--', 'python3', '-c', listens]), /'python3 .*' listens, but is no Node program/s)
  })

  it('for a Node program whose port is not that of an HTTP server of Node', async () => {
    const answers = `require('net').createServer(s => s.on('error', () => {}).once('data', () => s.end('HTTP/1.1 200 OK\\r\\ncontent-length: 0\\r\\nconnection: close\\r\\n\\r\\n'))).listen(0)`
    refused(await audit(['--', node, '-e', answers]), /no HTTP\/1 server of Node in it was asked/)
  })

  it('for an app that never listens, that ends, or that answers errors only', async () => {
    const never = await audit(['--start-timeout', '1s', '--', node, melted('never-listens')])
    refused(never, /listened on no TCP port within 1s/)
    refused(await audit(['--', node, melted('exits')]), /exited with code 3 before it listened/)
    refused(await audit(['--', node, melted('only-errors')]), /answered 500 to GET .* nothing to measure; --path/)
  })

  it('for a port in use', async () => {
    const server = http.createServer((_request, response) => response.end('somebody else')).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    refused(await audit(['--', node, melted('fixed-port'), String(port)]), new RegExp(`port ${port} is taken`))
    const there = ['--url', `http://127.0.0.1:${port}`, '--', node, melted('fixed-port')]
    refused(await audit(there), /something listens on .* already/)
    server.close().closeAllConnections()
  })

  it('for a folder of temporary files that cannot be written', async () => {
    const { TMPDIR } = process.env
    process.env['TMPDIR'] = '/proc/nowhere'
    try {
      refused(await audit(['--', node, melted('hello')]), /temporary files cannot be written .* set TMPDIR/)
    } finally {
      if (TMPDIR === undefined) delete process.env['TMPDIR']
      else process.env['TMPDIR'] = TMPDIR
    }
  })

  it('and needs no write access to the working folder; Ctrl-C shows what was seen so far', async () => {
    const before = process.cwd()
    process.chdir('/proc')
    try {
      const noisy = `require('http').createServer((q, r) => { console.log('asked'); r.end() }).listen(process.env.PORT)`
      let pressed = false
      const ended = await audit(['--duration', '30s', '--', node, '-e', noisy], {
        onStderr: (text, kill) => {
          if (pressed || !text.includes('10 users')) return
          // Once: a process that is about to exit has no handler any more.
          pressed = true
          kill('SIGINT')
        },
      })
      assert.equal(ended.code, 130, ended.stderr)
      assert.match(ended.stderr, /stopped by Ctrl-C/)
      assert.match(ended.stdout, /writes to stdout a request[\s\S]*INCOMPLETE, cut short: 1 warning/)
      assert.deepEqual(ended.strays, [])
    } finally {
      process.chdir(before)
    }
  })
})
