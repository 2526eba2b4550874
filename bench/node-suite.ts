/**
 * Runs Node's own tests bare, under meltproof/register, and with MELTPROOF=off. A test that passes bare must pass in
 * the other arms.
 *
 *   node bench/node-suite.ts CHECKOUT [FILTER]     CHECKOUT has `test/parallel` of nodejs/node; FILTER is a RegExp
 *   --jobs N       tests at a time (2)
 *   --out FILE     the result file (bench/results/node-suite.json)
 *
 * The tests run with the same Node as the script, so start it with the version of the checkout. A test that passes bare
 * and fails in another arm runs three times more in both arms. It counts as failed if it passes bare each time and
 * fails in the other arm each time. It then runs with an empty file in place of register, which shows the effect of
 * `--import` alone.
 */
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { scriptOptions } from '../scripts/script-options.ts'
import { conditions } from './lib/conditions.ts'

const LONGEST_MS = 60_000
const AGAIN = 3
const DEFAULT_FILTER =
  '^test-(?:cluster|child-process|http|https|http2|net|process|stdin|stdio|stdout|stream|tls|worker)-'

const { values, operands, whole, refuse } = scriptOptions(
  import.meta.filename,
  {
    jobs: { type: 'string', default: '2' },
    out: { type: 'string', default: join(import.meta.dirname, 'results/node-suite.json') },
  },
  { takesOperands: true },
)
const [checkout, filter = DEFAULT_FILTER] = operands
if (checkout === undefined) throw refuse('name a checkout of nodejs/node')
const root = resolve(checkout)
const folder = join(root, 'test/parallel')
if (!existsSync(folder)) refuse(`${folder} does not exist`)
const tests = readdirSync(folder)
  .filter(name => /\.m?js$/.test(name) && new RegExp(filter).test(name))
  .sort()

const scratch = mkdtempSync(join(tmpdir(), 'node-suite-'))
const empty = join(scratch, 'empty.mjs')
writeFileSync(empty, '')
const register = import.meta.resolve('meltproof/register')

const ARMS = {
  bare: {},
  register: { NODE_OPTIONS: `--import=${register}` },
  off: { NODE_OPTIONS: `--import=${register}`, MELTPROOF: 'off' },
  empty: { NODE_OPTIONS: `--import=${pathToFileURL(empty).href}` },
} as const satisfies Record<string, Record<string, string>>
type Arm = keyof typeof ARMS
const COMPARED = ['register', 'off'] as const

interface Difference {
  readonly test: string
  readonly arms: readonly Arm[]
  /** It also fails with an empty file in place of register. */
  readonly emptyFails: boolean
}

const passes: Record<Arm, number> = { bare: 0, register: 0, off: 0, empty: 0 }
const differences: Difference[] = []
let done = 0

async function judge(test: string, slot: number): Promise<void> {
  const passedBare = await passesIn(test, 'bare', slot)
  if (passedBare) passes.bare++
  const worse: Arm[] = []
  for (const arm of COMPARED) {
    const passed = await passesIn(test, arm, slot)
    if (passed || (passedBare && !(await failsAlways(test, arm, slot)))) passes[arm]++
    else if (passedBare) worse.push(arm)
  }
  if (worse.length > 0) {
    const difference = { test, arms: worse, emptyFails: !(await passesIn(test, 'empty', slot)) }
    differences.push(difference)
    console.log(`${test}: fails in ${worse.join(', ')}${difference.emptyFails ? ', and with an empty file' : ''}`)
  }
  if (++done % 100 === 0) console.log(`${done} of ${tests.length}`)
}

async function failsAlways(test: string, arm: Arm, slot: number): Promise<boolean> {
  for (let i = 0; i < AGAIN; i++) {
    if (await passesIn(test, arm, slot)) return false
    if (!(await passesIn(test, 'bare', slot))) return false
  }
  return true
}

/** Runs a test as Node's tools/test.py does: with the flags of the test, and a temporary folder for each slot. */
function passesIn(test: string, arm: Arm, slot: number): Promise<boolean> {
  const path = join(folder, test)
  const [, flags = ''] = /^\/\/ Flags:\s*(.*)$/m.exec(readFileSync(path, 'utf8')) ?? []
  const { NODE_OPTIONS: _, ...inherited } = process.env
  const env = {
    ...inherited,
    TEST_THREAD_ID: String(slot),
    TEST_SERIAL_ID: `${slot}`,
    NODE_TEST_DIR: scratch,
    ...ARMS[arm],
  }
  return new Promise(resolve => {
    const child = spawn(process.execPath, [...flags.split(/\s+/).filter(Boolean), path], {
      cwd: root,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
      // Processes that a test leaves behind are killed with its process group.
      detached: true,
    })
    child.stdout.resume()
    child.stderr.resume()
    const end = (): void => {
      try {
        process.kill(-child.pid!, 'SIGKILL')
      } catch {
        // All processes of the group have already ended.
      }
    }
    const timer = setTimeout(end, LONGEST_MS)
    child.on('exit', code => {
      clearTimeout(timer)
      end()
      resolve(code === 0)
    })
  })
}

const before = conditions()
const queue = [...tests]
await Promise.all(
  Array.from({ length: whole('jobs') }, async (_, slot) => {
    for (let test = queue.shift(); test !== undefined; test = queue.shift()) await judge(test, slot)
  }),
)
rmSync(scratch, { recursive: true, force: true })
const { bare, register: under, off } = passes
const result = { ...before, filter, tests: tests.length, passes: { bare, register: under, off }, differences }
writeFileSync(values.out, `${JSON.stringify(result, null, 2)}\n`)
console.log(`of ${tests.length}: ${bare} pass bare, ${under} under register, ${off} with MELTPROOF=off`)
