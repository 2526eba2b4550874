/**
 * Runs the test suite with Node's own runner: every `*.test.ts` under test/, apps/test/, packages/ and examples/.
 *
 *   npm test                      builds, then runs all of them: 8 to 17 minutes on two cores
 *   npm test -- packages/lab      those below a path, or several paths
 *   npm run test:unit             only unit tests: 30 to 80 s, without a build
 *   --unit                        only the unit tests of those chosen (scripts/unit-tests.ts selects them)
 *   --on-another-node             omits tests with the same result on every Node (scripts/unit-tests.ts selects them)
 *   --slowest N                   prints the N slowest files at the end
 *
 * A file that does not end by itself, for example because a test left a server open, is ended and reported
 * (end-of-test-file.ts), even if its event loop spins (running-test-files.ts). Skipped tests are counted at the end,
 * with their requirements. If at most three files fail while others run, they run again alone. A test of speed, which
 * already runs alone, runs twice more. A file that then passes each time does not fail the suite, but is reported at the
 * end as unsteady: its test, or the code, depends on how busy the machine is. The last line names the files that failed.
 * A signal ends everything that the files have started (end-on-signal.ts). NODE_BINARY selects another Node for the
 * suite (CI: 22 and 26).
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, globSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join, relative, resolve } from 'node:path'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import { pathToFileURL } from 'node:url'
import { endOnSignal, SIGNALS } from './end-on-signal.ts'
import { openToPostgres } from './folder-for-postgres.ts'
import { killHung } from './running-test-files.ts'
import { scriptOptions } from './script-options.ts'
import { SkippedTests } from './skipped-tests.ts'
import { showsTheSame, whyNotUnit } from './unit-tests.ts'

const { NODE_BINARY, ...env } = process.env
if (NODE_BINARY !== undefined) {
  const other = spawn(NODE_BINARY, process.argv.slice(1), { stdio: 'inherit', env })
  for (const signal of SIGNALS) process.on(signal, () => other.kill(signal))
  const [code] = await once(other, 'exit')
  process.exit(code ?? 1)
}

const { values, operands, whole, refuse } = scriptOptions(
  import.meta.filename,
  {
    unit: { type: 'boolean', default: false },
    'on-another-node': { type: 'boolean', default: false },
    slowest: { type: 'string', default: '0' },
  },
  { takesOperands: true },
)
const slowest = whole('slowest', 0)
const found = globSync([
  'test/**/*.test.ts',
  'apps/test/*.test.ts',
  'packages/*/test/**/*.test.ts',
  'examples/*/test/**/*.test.ts',
]).sort()
const chosen = found
  .filter(file => operands.length === 0 || operands.some(name => file.startsWith(name)))
  .filter(file => !values['on-another-node'] || !showsTheSame(file))
if (chosen.length === 0)
  refuse(`no test file matches ${operands.join(', ')}; expected a path such as packages/lab/test`)
const unit = chosen.filter(file => whyNotUnit(file) === undefined)
if (values.unit && unit.length === 0) refuse(`${operands.join(', ')} holds no unit test`)

const unbuilt = values.unit ? [] : ['packages/meltproof/dist', 'packages/lab/dist'].filter(path => !existsSync(path))
if (unbuilt.length > 0)
  refuse(`${unbuilt.join(' and ')} is missing; run \`npm run build\` first, or \`npm test\`, which builds`)

/** Tests that judge speed run alone, one file at a time. */
const MEASURES = 'packages/lab/test/measures/'
const isMeasure = (file: string): boolean => file.startsWith(MEASURES)
const others = values.unit ? [] : chosen.filter(file => !unit.includes(file))
/** Unit tests share processes, because for most of these files Node takes longer to start than the tests to run. */
const UNIT_FILES_PER_PROCESS = 16
const together = folderUntilExit('unit-tests-')
const unitProcesses = unit.length <= UNIT_FILES_PER_PROCESS ? unit : inProcesses(unit)
const phases = [
  { files: others.filter(isMeasure), concurrency: 1 },
  // Five at a time: the other files mostly wait, but those of the lab use the same two cores on any machine. The unit
  // tests are short and run last, so that the cores are busy until the end.
  {
    files: [...inTurns(others.filter(file => !isMeasure(file))), ...unitProcesses],
    concurrency: values.unit ? availableParallelism() : 5,
  },
].filter(({ files }) => files.length > 0)

function folderUntilExit(prefix: string): string {
  const folder = mkdtempSync(join(tmpdir(), prefix))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Writes a file per process, which imports every n-th test file, because neighbouring files take similarly long. */
function inProcesses(files: readonly string[]): string[] {
  const count = Math.ceil(files.length / UNIT_FILES_PER_PROCESS)
  return Array.from({ length: count }, (_, n) => {
    const share = files.filter((_, at) => at % count === n)
    const imports = share.map(file => `import ${JSON.stringify(pathToFileURL(resolve(file)).href)}\n`)
    const file = join(together, `unit-${n + 1}-of-${count}.test.mjs`)
    writeFileSync(file, imports.join(''))
    return file
  })
}

/** Interleaves files of the runtime, which mostly wait, and of the lab, which mostly compute. */
function inTurns(files: readonly string[]): string[] {
  const groups = Map.groupBy(files, file => file.startsWith('packages/meltproof/'))
  const placed = [...groups.values()].flatMap(group => group.map((file, at) => ({ file, place: at / group.length })))
  return placed.toSorted((one, other) => one.place - other.place).map(({ file }) => file)
}

process.once('exit', openToPostgres(join(import.meta.dirname, '..'), console.error))

// Each file is a process, and most start more. With the cache, their modules are compiled once, not by each process.
process.env['NODE_COMPILE_CACHE'] ??= join(import.meta.dirname, '../node_modules/.cache/tests')

// With this variable, simulations run only one of their seeds.
if (values.unit) process.env['UNIT_TESTS_ALONE'] = '1'

const running = folderUntilExit('test-files-')
process.env['TEST_FILES_RUNNING'] = running
const stopKilling = killHung(running)
const ending = endOnSignal()

/** More failures than this are not caused by a busy machine. */
const MOST_AGAIN = 3
const skipped = new SkippedTests()
const times: { readonly ms: number; readonly file: string }[] = []
const failed = new Set<string>()
let passed = true
for (const { files, concurrency } of phases) passed = (await passes(files, concurrency)) && passed
const again = [...failed]
const unsteady: string[] = []
if (mayRunAgain(again)) {
  for (const file of again) {
    console.log(`\n${file} failed, and runs ${isMeasure(file) ? 'twice more' : 'again alone'}`)
    if ((await passes([file], 1)) && (!isMeasure(file) || (await passes([file], 1)))) unsteady.push(file)
  }
  passed = unsteady.length === again.length
}

/** Whether the failed files are few, and a second run may end differently: a single chosen file ran alone before. */
function mayRunAgain(files: readonly string[]): boolean {
  const mayPass = (file: string): boolean => isMeasure(file) || (chosen.includes(file) && chosen.length > 1)
  return files.length > 0 && files.length <= MOST_AGAIN && files.every(mayPass)
}

/** Prints the report of the runner, and records the files that fail. */
async function passes(files: readonly string[], concurrency: number): Promise<boolean> {
  if (ending.aborted) return false
  const execArgv = ['--import', join(import.meta.dirname, 'end-of-test-file.ts')]
  const events = run({ files, concurrency, timeout: 300_000, execArgv, signal: ending })
  let allPassed = false
  events.on('test:pass', ({ skip }) => skipped.add(skip))
  events.on('test:fail', ({ name, file, todo }) => {
    // A process that runs several files also fails if one of them does, but that file is already recorded.
    if (todo !== undefined || name.startsWith(together)) return
    failed.add(files.includes(name) ? name : relative('', file ?? name))
  })
  events.on('test:summary', ({ file, success }) => {
    // The summary of all files names no file.
    if (file === undefined) allPassed = success
  })
  // A file as a whole is a test with its path as name. Not every file has its own summary.
  events.on('test:complete', ({ name, nesting, details }) => {
    if (nesting === 0 && files.includes(name)) times.push({ ms: details.duration_ms, file: name })
  })
  for await (const text of events.compose(spec)) process.stdout.write(text)
  return allPassed
}

if (slowest > 0) {
  times.sort((one, other) => other.ms - one.ms)
  console.log(`\nseconds, the slowest ${Math.min(slowest, times.length)} of ${times.length} files`)
  for (const { ms, file } of times.slice(0, slowest)) {
    console.log(`${(ms / 1000).toFixed(1).padStart(7)}  ${file}`)
  }
}
stopKilling()
const notice = skipped.notice()
if (notice !== undefined) console.log(notice)
if (unsteady.length > 0) {
  console.log(`\nUNSTEADY ${unsteady.length} (failed, and passed when run again): ${unsteady.join(', ')}`)
}
// At the very end, because CI may show only the end of what it printed.
if (!passed && failed.size > 0) {
  console.log(`\nFAILED: ${[...failed].filter(file => !unsteady.includes(file)).join(', ')}`)
}
process.exitCode = passed ? 0 : 1
