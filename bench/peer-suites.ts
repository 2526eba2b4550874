/**
 * Runs the test suite of a database driver twice against a real server: as it is, and with every client and pool bound.
 *
 *   node bench/peer-suites.ts pg|mysql2|ioredis CHECKOUT [--only TEXT] [--show] [--at-once 2]
 *
 * CHECKOUT is a copy of brianc/node-postgres, sidorares/node-mysql2 or redis/ioredis with its dependencies installed.
 * Build meltproof first. --only takes test files whose path contains TEXT; --show prints the output of the files that
 * fail bound alone. A file that fails bound is run again, because some fail now and then without meltproof too.
 *
 * Bar: each test file that passes bare passes bound.
 */
import { spawn } from 'node:child_process'
import { globSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import mysql from 'mysql2/promise'
import { Redis } from 'ioredis'
import { type Running, startMariadb, startPostgres } from '../packages/meltproof/test/databases/real-servers.ts'
import { scriptOptions } from '../scripts/script-options.ts'

interface Suite {
  readonly files: readonly string[]
  /** Below the checkout: where its files are run. */
  readonly folder?: string
  readonly command: readonly string[]
  readonly environment?: NodeJS.ProcessEnv
  /** Test files run side by side; 1 where they share tables or ports. */
  readonly atOnce?: number
  start(): Promise<Running>
  /** Variables that lead a test to the server. */
  reach(port: number): NodeJS.ProcessEnv
}

const SUITES: Record<string, Suite> = {
  pg: {
    folder: 'packages/pg',
    files: ['test/unit/**/*-tests.js', 'test/integration/**/*-tests.js'],
    command: ['FILE'],
    atOnce: 1,
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
    files: ['test/**/*.test.mts', 'test/**/*.test.ts'],
    command: ['FILE'],
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
    files: ['test/unit/**/*.ts', 'test/functional/**/*.ts'],
    command: [
      '--no-experimental-strip-types',
      'node_modules/mocha/bin/mocha.js',
      '--exit',
      'test/helpers/*.ts',
      'FILE',
    ],
    environment: { TS_NODE_TRANSPILE_ONLY: 'true', NODE_ENV: 'test' },
    // Its mock servers have fixed ports, and so has the server that it expects.
    atOnce: 1,
    start: startRedis,
    reach: () => ({}),
  },
}

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
  .filter(file => file.includes(options.values.only))
  .sort()
if (files.length === 0) options.refuse(`no test file of ${driver} below ${folder}`)

interface Ran {
  readonly passed: boolean
  readonly output: string
}

const server = await suite.start()
try {
  const failing: string[] = []
  let passing = 0
  const waiting = [...files]
  await Promise.all(
    Array.from({ length: suite.atOnce ?? options.whole('at-once') }, async () => {
      for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) {
        if (!(await run(file, false)).passed) {
          console.log(`fails bare: ${file}`)
          continue
        }
        passing++
        let bound: Ran = { passed: false, output: '' }
        for (let i = 0; i < ATTEMPTS_BOUND && !bound.passed; i++) bound = await run(file, true)
        if (bound.passed) continue
        failing.push(file)
        console.log(`FAILS BOUND: ${file}`)
        if (options.values.show) console.log(bound.output)
      }
    }),
  )
  console.log(`${driver}: ${files.length} files, ${passing} pass bare, ${passing - failing.length} of those pass bound`)
  process.exitCode = failing.length === 0 ? 0 : 1
} finally {
  await server.stop()
}

async function run(file: string, bound: boolean): Promise<Ran> {
  const hook = pathToFileURL(join(import.meta.dirname, 'lib/bind-every-client.mjs')).href
  const args = suite.command.map(each => each.replace('FILE', file))
  const child = spawn(process.execPath, ['--import', hook, ...args], {
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
  const timer = setTimeout(() => child.kill('SIGKILL'), FILE_TIMEOUT_MS)
  const code = await new Promise(ended => child.once('close', ended))
  clearTimeout(timer)
  return { passed: code === 0, output }
}
