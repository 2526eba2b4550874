/**
 * Runs the test suite of a database driver twice against a real server: bare (unchanged), and with every client and
 * pool bound, that is, passed through meltproof's `bound()`.
 *
 *   node bench/peer-suites.ts pg|mysql2|ioredis CHECKOUT [--only TEXT] [--show] [--at-once 2]
 *
 * CHECKOUT is a copy of brianc/node-postgres, sidorares/node-mysql2 or redis/ioredis with its dependencies installed.
 * Build meltproof first. pg and mysql2 are compared by test file, ioredis (which runs in one process) by test. --only
 * takes test files whose path contains TEXT. --show prints the output of the files that fail only when bound. A test or
 * file that fails bound is run twice more, because some fail now and then without meltproof too.
 *
 * Bar: each test or file that passes bare passes bound.
 */
import { spawn } from 'node:child_process'
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Redis } from 'ioredis'
import mysql from 'mysql2/promise'
import { type Running, startMariadb, startPostgres } from '../packages/meltproof/test/databases/real-servers.ts'
import { scriptOptions } from '../scripts/script-options.ts'

interface Suite {
  readonly files: readonly string[]
  /** Folder below the checkout in which the files run. */
  readonly folder?: string
  /** Mocha runs all files in one process, instead of one Node process per file. */
  readonly mocha?: boolean
  readonly environment?: NodeJS.ProcessEnv
  /** Test files share tables or ports. */
  readonly oneByOne?: boolean
  start(): Promise<Running>
  /** Environment variables with which a test finds the server. */
  reach(port: number): NodeJS.ProcessEnv
}

const SUITES: Readonly<Record<string, Suite>> = {
  pg: {
    folder: 'packages/pg',
    files: ['test/unit/**/*-tests.js', 'test/integration/**/*-tests.js'],
    oneByOne: true,
    start: () => startPostgres(),
    reach: port => ({
      PGHOST: '127.0.0.1',
      PGPORT: String(port),
      PGUSER: 'postgres',
      PGPASSWORD: 'secret',
      PGDATABASE: 'postgres',
      PGTESTNOSSL: 'true',
    }),
  },
  mysql2: {
    // Excludes test/tsc-build, which is only for the TypeScript compiler.
    files: ['test/{unit,integration,global}/**/*.test.mts'],
    async start() {
      const server = await startMariadb()
      const connection = await mysql.createConnection({ host: '127.0.0.1', port: server.port, user: 'root' })
      await connection.query('create database if not exists test')
      await connection.end()
      return server
    },
    reach: port => ({ MYSQL_HOST: '127.0.0.1', MYSQL_PORT: String(port), MYSQL_USER: 'root', MYSQL_DATABASE: 'test' }),
  },
  ioredis: {
    files: ['test/helpers/*.ts', 'test/unit/**/*.ts', 'test/functional/**/*.ts'],
    mocha: true,
    environment: { TS_NODE_TRANSPILE_ONLY: 'true', NODE_ENV: 'test' },
    start: startRedis,
    reach: () => ({}),
  },
}

/** Starts Redis on the port that the tests of ioredis expect. */
async function startRedis(): Promise<Running> {
  const port = 6379
  const child = spawn('redis-server', ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--dir', tmpdir()])
  const client = new Redis({ host: '127.0.0.1', port })
  client.on('error', () => {})
  await client.ping()
  client.disconnect()
  return { port, stop: async () => void child.kill() }
}

const FILE_TIMEOUT_MS = 90_000
const SUITE_TIMEOUT_MS = 900_000
const ATTEMPTS_BOUND = 3

const options = scriptOptions(
  import.meta.filename,
  { only: { type: 'string', default: '' }, show: { type: 'boolean' }, 'at-once': { type: 'string', default: '2' } },
  { takesOperands: true },
)
const [driver = '', checkout = ''] = options.operands
const suite = SUITES[driver] ?? options.refuse(`expected ${Object.keys(SUITES).join(', ')}, got '${driver}'`)
const folder = resolve(checkout, suite.folder ?? '.')
const files = globSync([...suite.files], { cwd: folder })
  .filter(file => file.includes(options.values.only) || file.includes('/helpers/'))
  .sort()
if (files.length === 0) options.refuse(`no test file of ${driver} below ${folder}`)

const server = await suite.start()
const failingBare: string[] = []
const failingBound: string[] = []
let passing = 0
try {
  const waiting = suite.mocha === true ? [files] : files.map(file => [file])
  const lanes = suite.mocha === true || suite.oneByOne === true ? 1 : options.whole('at-once')
  await Promise.all(Array.from({ length: lanes }, () => compareAll(waiting)))
} finally {
  await server.stop()
}
for (const name of failingBare) console.log(`fails bare: ${name}`)
for (const name of failingBound) console.log(`FAILS BOUND: ${name}`)
const what = suite.mocha === true ? 'tests' : 'files'
console.log(
  `${driver}: ${passing + failingBare.length} ${what}, ${passing} pass bare, ${passing - failingBound.length} of those pass bound`,
)
process.exitCode = failingBound.length === 0 ? 0 : 1

async function compareAll(waiting: string[][]): Promise<void> {
  for (let group = waiting.shift(); group !== undefined; group = waiting.shift()) {
    const bare = await run(group, false)
    failingBare.push(...bare.failed)
    passing += bare.passed.length
    let left = bare.passed
    let output = ''
    for (let i = 0; i < ATTEMPTS_BOUND && left.length > 0; i++) {
      const bound = await run(group, true)
      const passed = new Set(bound.passed)
      left = left.filter(name => !passed.has(name))
      output = bound.output
    }
    failingBound.push(...left)
    if (left.length > 0 && options.values.show) console.log(output)
  }
}

interface Ran {
  /** Names of tests or files. */
  readonly passed: readonly string[]
  readonly failed: readonly string[]
  readonly output: string
}

async function run(group: readonly string[], bound: boolean): Promise<Ran> {
  const hook = pathToFileURL(join(import.meta.dirname, 'lib/bind-every-client.mjs')).href
  const reports = mkdtempSync(join(tmpdir(), 'meltproof-peer-'))
  const report = join(reports, 'report.json')
  const mocha = ['node_modules/mocha/bin/mocha.js', '--exit', '--reporter', 'json', '--reporter-option']
  const command =
    suite.mocha === true ? ['--no-experimental-strip-types', ...mocha, `output=${report}`, ...group] : [...group]
  const child = spawn(process.execPath, ['--import', hook, ...command], {
    cwd: folder,
    env: {
      ...process.env,
      ...suite.environment,
      ...suite.reach(server.port),
      MELTPROOF_PEER_BOUND: bound ? 'on' : 'off',
      MELTPROOF_PEER_SUITE: JSON.stringify([driver, resolve(checkout)]),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  const keep = (chunk: Buffer): void => {
    output = (output + chunk).slice(-8000)
  }
  child.stdout.on('data', keep)
  child.stderr.on('data', keep)
  const timer = setTimeout(() => child.kill('SIGKILL'), suite.mocha === true ? SUITE_TIMEOUT_MS : FILE_TIMEOUT_MS)
  const code = await new Promise(ended => child.once('close', ended))
  clearTimeout(timer)
  try {
    if (suite.mocha !== true) return { passed: code === 0 ? group : [], failed: code === 0 ? [] : group, output }
    const { passes, failures } = JSON.parse(readFileSync(report, 'utf8')) as Record<string, { fullTitle: string }[]>
    const titles = (tests: { fullTitle: string }[] = []): string[] => [...new Set(tests.map(test => test.fullTitle))]
    return { passed: titles(passes), failed: titles(failures), output }
  } finally {
    rmSync(reports, { recursive: true, force: true })
  }
}
