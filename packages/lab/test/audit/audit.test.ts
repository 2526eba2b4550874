/** `meltlab audit` of real apps: it finds all planted causes, and nothing in clean apps. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import type { Cause } from '../../src/audit/causes.ts'
import type { AuditResult } from '../../src/audit/result.ts'
import type { CliEnd } from '../run-cli.ts'
import { type Dependencies, startDependencies } from './dependencies.ts'
import { audit } from './run-audit.ts'

const here = import.meta.dirname
const app = (name: string): string => path.join(here, 'apps', name)

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

  it('finds every planted fault, and its location', async () => {
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
    // Each of the two findings counts every call of loadUser once, whichever connection it gets.
    const times = (cause: Cause, name: string) =>
      findings.find(each => each.cause === cause && each.where?.includes(name))?.times
    // The last call may still wait for its connection.
    const [queries, waits] = [times('pg-query-unbounded', 'loadUser')!, times('pg-pool-endless', 'loadUser')!]
    assert.ok(Math.abs(queries - waits) <= 1, `${queries} queries, ${waits} waits`)
    assert.equal(worst, 'melts')
    assert.equal(ended.code, 3)
    assert.deepEqual(notes, [])
    assert.ok(requests > 20, `${requests}`)
    assert.deepEqual(ended.strays, [])
  })

  it('finds nothing in an Express app in CommonJS, started by npm start with meltproof/register', async () => {
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

  it('finds nothing in a Fastify app in TypeScript whose outbound calls and databases meltproof limits', async () => {
    const paths = ['/', '/user', '/orders', '/price'].flatMap(each => ['--path', each])
    const ended = await audit(['--json', '--duration', '5s', ...paths, '--', process.execPath, app('clean-fastify.ts')])
    const { findings, incomplete, worst } = resultOf(ended)
    assert.deepEqual(findings, [])
    assert.equal(incomplete, false)
    assert.equal(worst, null)
    assert.equal(ended.code, 0, ended.stderr)
  })

  it('finds five routes that each block the event loop, and one that logs, among routes that do neither', async () => {
    const routes = ['one', 'quiet', 'two', 'three', 'four', 'log', 'five', 'still']
    const paths = routes.flatMap(route => ['--path', `/${route}`])
    const ended = await audit(['--json', '--duration', '5s', ...paths, '--', process.execPath, app('holds.mjs')])
    const { findings, tooFew } = resultOf(ended)
    const where = (cause: Cause): readonly string[] =>
      findings.filter(each => each.cause === cause).map(each => /\((\w+)/.exec(each.where ?? '')?.[1] ?? '')
    assert.deepEqual(where('stdout-writes'), ['log'])
    assert.deepEqual(where('loop-held').toSorted(), ['five', 'four', 'one', 'three', 'two'], ended.stdout)
    for (const { cause, times } of findings) assert.ok(cause !== 'loop-held' || times! >= 5, ended.stdout)
    assert.deepEqual(tooFew, [])
  })

  it('exits with code 5 if it found nothing, but had too few requests of a path to judge it', async () => {
    const paths = ['--path', '/', '--path', '/slow']
    const ended = await audit(['--duration', '5s', ...paths, '--', process.execPath, app('slow-path.mjs')])
    assert.match(
      ended.stdout,
      /^too few requests to judge \/slow \(raise --duration\),\s+in\s+[\d,]+\s+requests\s+to \/,\s+\/slow\.\n$/,
      ended.stderr,
    )
    assert.equal(ended.code, 5, ended.stderr)
    assert.deepEqual(ended.strays, [])
  })

  it('does not count requests that are refused after SIGTERM as errors', async () => {
    const ended = await audit(['--json', '--duration', '5s', '--', process.execPath, app('slow-drain.mjs')])
    const { findings, notes } = resultOf(ended)
    assert.deepEqual(findings, [])
    assert.deepEqual(notes, [])
  })

  it('notes that a path is answered with a redirect, which is not followed', async () => {
    const redirects = path.join(here, '../melt/apps/redirects.mjs')
    const ended = await audit(['--json', '--duration', '5s', '--', process.execPath, redirects])
    assert.deepEqual(resultOf(ended).notes, [
      'GET / is answered 302, and redirects are not followed; measure their target with --path',
    ])
  })
})
