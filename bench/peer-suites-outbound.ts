/**
 * Runs the test suite of a client twice: unchanged, and with a preload that bounds all outbound calls of its processes.
 *
 *   node bench/peer-suites-outbound.ts ws|undici CHECKOUT [--only TEXT] [--show] [--at-once 2] [--limits JSON]
 *
 * CHECKOUT is a copy of websockets/ws or nodejs/undici with its dependencies installed (undici: also its `generate-pem`
 * and `build:node`). Build meltproof first. Results are compared by test. --only takes test files whose path contains
 * TEXT. --show prints the output of files that differ. --limits is passed to install(); without it, install() uses its
 * defaults. A file with a test that fails only when bounded is run twice more in both ways, because some tests fail now
 * and then without meltproof too.
 *
 * Bar: each test that passes bare passes bounded. Writes bench/results/peer-suites-outbound.json unless --only is
 * given.
 */
import { spawn } from 'node:child_process'
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { scriptOptions } from '../scripts/script-options.ts'
import { conditions } from './lib/conditions.ts'

const LONGEST_MS = 180_000
const AGAIN = 2

interface Suite {
  readonly files: readonly string[]
  /** Command that runs one file and prints TAP. */
  readonly run: (file: string) => readonly string[]
}

const SUITES: Readonly<Record<string, Suite>> = {
  ws: {
    files: ['test/*.test.js'],
    run: file => ['node_modules/mocha/bin/_mocha', '--throw-deprecation', '--exit', '--reporter', 'tap', file],
  },
  undici: {
    files: [
      'test/*.js',
      'test/{busboy,cache,cache-interceptor,cookie,eventsource,fetch,infra,interceptors}/*.js',
      'test/{subresource-integrity,webidl}/*.js',
      'test/{node-fetch,node-test,websocket}/**/*.js',
    ],
    run: file => ['--expose-gc', '--test-reporter=tap', file],
  },
}

const { values, operands, whole, refuse } = scriptOptions(
  import.meta.filename,
  {
    only: { type: 'string' },
    show: { type: 'boolean', default: false },
    'at-once': { type: 'string', default: '2' },
    limits: { type: 'string', default: '{}' },
  },
  { takesOperands: true },
)
const [name = '', checkout = ''] = operands
const suite = SUITES[name] ?? refuse(`name a suite: ${Object.keys(SUITES).join(' or ')}`)
if (!existsSync(join(checkout, 'package.json'))) refuse(`'${checkout}' has no package.json`)
const root = resolve(checkout)
const preload = pathToFileURL(join(import.meta.dirname, 'lib/install-outbound.mjs')).href

type Way = 'bare' | 'bounded'

interface Outcome {
  /** Names of tests and subtests. Repeated names carry a count. */
  readonly passed: ReadonlySet<string>
  readonly failed: ReadonlySet<string>
  readonly output: string
}

function run(file: string, way: Way): Promise<Outcome> {
  const { NODE_OPTIONS: _, ...inherited } = process.env
  const bounds = { NODE_OPTIONS: `--import=${preload}`, OUTBOUND_LIMITS: values.limits }
  return new Promise(done => {
    const child = spawn(process.execPath, suite.run(file), {
      cwd: root,
      env: { ...inherited, ...(way === 'bounded' ? bounds : {}) },
      stdio: ['ignore', 'pipe', 'pipe'],
      // Processes that a test leaves behind are killed with its process group.
      detached: true,
    })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', data => (output += String(data)))
    const end = (): void => {
      try {
        process.kill(-child.pid!, 'SIGKILL')
      } catch {
        // All processes of the group have already ended.
      }
    }
    let hung = false
    const timer = setTimeout(() => {
      hung = true
      end()
    }, LONGEST_MS)
    child.on('close', code => {
      clearTimeout(timer)
      end()
      const { passed, failed } = read(output)
      if (hung) failed.add('the file ends')
      else if (code === 0) passed.add('the file exits with 0')
      else failed.add('the file exits with 0')
      done({ passed, failed, output })
    })
  })
}

/** Parses the lines of TAP, which are indented for subtests. */
function read(output: string): { passed: Set<string>; failed: Set<string> } {
  const passed = new Set<string>()
  const failed = new Set<string>()
  const seen = new Map<string, number>()
  for (const [, indent, not, title] of output.matchAll(/^( *)(not )?ok \d+ (?:- )?(.*?)(?: # .*)?$/gm)) {
    const key = `${indent}${title}`
    const count = (seen.get(key) ?? 0) + 1
    seen.set(key, count)
    ;(not === undefined ? passed : failed).add(count === 1 ? key : `${key} (${count})`)
  }
  return { passed, failed }
}

interface Difference {
  readonly file: string
  readonly tests: readonly string[]
}

let passedBare = 0
let passedBounded = 0
const differences: Difference[] = []

async function judge(file: string): Promise<void> {
  const bare = await run(file, 'bare')
  const bounded = await run(file, 'bounded')
  passedBare += bare.passed.size
  let worse = [...bare.passed].filter(test => !bounded.passed.has(test))
  for (let i = 0; i < AGAIN && worse.length > 0; i++) {
    const bareAgain = await run(file, 'bare')
    const boundedAgain = await run(file, 'bounded')
    worse = worse.filter(test => bareAgain.passed.has(test) && !boundedAgain.passed.has(test))
  }
  passedBounded += bare.passed.size - worse.length
  if (worse.length === 0) return
  differences.push({ file, tests: worse.map(test => test.trim()) })
  console.log(`${file}: ${worse.map(test => test.trim()).join('; ')}`)
  if (values.show) console.log(bounded.output)
}

const before = conditions()
const files = suite.files
  .flatMap(pattern => globSync(pattern, { cwd: root }))
  .filter(file => file.includes(values.only ?? ''))
  .sort()
const queue = [...files]
await Promise.all(
  Array.from({ length: whole('at-once') }, async () => {
    for (let file = queue.shift(); file !== undefined; file = queue.shift()) await judge(file)
  }),
)
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
console.log(
  `${name} ${version}: ${files.length} files; of ${passedBare} tests that pass bare ${passedBounded} pass bounded`,
)
if (values.only === undefined) {
  const path = join(import.meta.dirname, 'results/peer-suites-outbound.json')
  const known = existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as object) : {}
  const result = {
    ...before,
    version,
    limits: values.limits,
    files: files.length,
    passedBare,
    passedBounded,
    differences,
  }
  writeFileSync(path, `${JSON.stringify({ ...known, [name]: result }, undefined, 2)}\n`)
}
if (differences.length > 0) process.exitCode = 1
