/**
 * Mutation testing: makes small faults in the runtime, one at a time, and reports those that the unit tests miss. For
 * each fault that Stryker makes, it runs the test files that execute its line. Needs the npm registry once.
 *
 *   npm run mutations -- admission/queue     every file below packages/meltproof/src/admission/queue
 *   npm run mutations -- deadline outbound   several folders, or files
 *   --tests FILE,FILE                        these test files instead of the unit tests of the same folders of test/
 *   --keep                                   writes the figures into bench/results/mutations.json
 *
 * The score of a file is the share of its faults that a test noticed, or that made a test run without end. A fault on a
 * line that none of the tests executes counts as missed. Simulations are not run.
 */
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, globSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { scriptOptions } from './script-options.ts'
import { filesLoadedBy, whyNotUnit } from './unit-tests.ts'

const STRYKER = '10.0.0'
const SOURCE = 'packages/meltproof/src/'
const RESULTS = 'bench/results/mutations.json'

interface Mutant {
  readonly status: 'Killed' | 'Survived' | 'NoCoverage' | 'Timeout' | 'RuntimeError' | 'Ignored'
  readonly mutatorName: string
  readonly replacement?: string
  readonly location: { readonly start: { readonly line: number } }
}

/** Figures of one file. */
interface Figures {
  readonly mutants: number
  readonly noticed: number
  /** Mutants that were not noticed, on lines that no test executes. */
  readonly unexecuted: number
}

const { values, operands, refuse } = scriptOptions(
  import.meta.filename,
  { tests: { type: 'string' }, keep: { type: 'boolean', default: false } },
  { takesOperands: true },
)
if (operands.length === 0) refuse('names no folder; expected one below packages/meltproof/src, such as admission/queue')
const mutate = operands.flatMap(operand => {
  const path = SOURCE + operand
  const files = path.endsWith('.ts') ? [path].filter(file => existsSync(file)) : globSync(`${path}/**/*.ts`)
  return files.length > 0 ? files : refuse(`${path} holds no TypeScript`)
})
const folders = new Set(operands.map(operand => operand.split('/', 1)[0]))
const testFiles =
  values.tests?.split(',') ??
  globSync([...folders].map(folder => `packages/meltproof/test/${folder}/**/*.test.ts`)).filter(
    // Simulations take seconds each, and test the whole instead of a line.
    file =>
      whyNotUnit(file) === undefined && ![...filesLoadedBy(file)].some(path => path.startsWith(inRuntime('sim/'))),
  )

const work = mkdtempSync(join(tmpdir(), 'mutations-'))
const env = { ...process.env, NODE_COMPILE_CACHE: join(work, 'compiled') }
const stryker = join(tmpdir(), `meltproof-stryker-${STRYKER}`)
const packages = [`@stryker-mutator/core@${STRYKER}`, `@stryker-mutator/tap-runner@${STRYKER}`]
if (!existsSync(join(stryker, 'node_modules/@stryker-mutator/tap-runner'))) {
  run('npm', ['install', '--silent', '--no-save', '--prefix', stryker, ...packages])
}

const report = join(work, 'report.json')
for (const part of [
  'package.json',
  'docs',
  'packages/meltproof/package.json',
  ...['src', 'test', 'sim'].map(inRuntime),
]) {
  cpSync(part, join(work, part), { recursive: true })
}
symlinkSync(resolve('node_modules'), join(work, 'node_modules'))
// Stryker fails at `x!++`. Stripping the types keeps the line numbers.
for (const file of mutate) writeFileSync(join(work, file), stripTypeScriptTypes(readFileSync(file, 'utf8')))
writeFileSync(
  join(work, 'stryker.config.json'),
  JSON.stringify({
    mutate,
    testRunner: 'tap',
    plugins: [join(stryker, 'node_modules/@stryker-mutator/tap-runner/dist/src/index.js')],
    tap: { testFiles, nodeArgs: ['--test-reporter=tap', '-r', '{{hookFile}}', '{{testFile}}'], forceBail: true },
    coverageAnalysis: 'perTest',
    disableTypeChecks: false,
    reporters: ['json', 'progress-append-only'],
    jsonReporter: { fileName: report },
    concurrency: 2,
    // Stryker ends an infinite loop by its number of rounds. This timeout is only for tests that wait.
    timeoutMS: 60_000,
  }),
)
run(process.execPath, [join(stryker, 'node_modules/@stryker-mutator/core/bin/stryker.js'), 'run'], work)

const { files } = JSON.parse(readFileSync(report, 'utf8')) as { files: Record<string, { mutants: Mutant[] }> }
rmSync(work, { recursive: true, force: true })
const figures: Record<string, Figures> = existsSync(RESULTS) ? JSON.parse(readFileSync(RESULTS, 'utf8')).files : {}
const found: Record<string, Figures> = {}
for (const [file, { mutants }] of Object.entries(files)) {
  const missed = mutants.filter(({ status }) => status === 'Survived' || status === 'NoCoverage')
  for (const { mutatorName, replacement, location, status } of missed) {
    if (status === 'Survived') console.log(`${file}:${location.start.line}  ${mutatorName}  ${replacement ?? ''}`)
  }
  found[file.slice(SOURCE.length)] = {
    mutants: mutants.length,
    noticed: mutants.length - missed.length,
    unexecuted: missed.filter(({ status }) => status === 'NoCoverage').length,
  }
}
const byFolder = Map.groupBy(Object.entries(found), ([file]) => dirname(file))
for (const [folder, ofFolder] of byFolder) {
  const sum = (name: keyof Figures): number => ofFolder.reduce((total, [, each]) => total + each[name], 0)
  console.log(`\n${folder}: ${share(sum('noticed'), sum('mutants'))}, ${sum('unexecuted')} on lines no test executes`)
  for (const [file, { mutants, noticed, unexecuted }] of ofFolder) {
    console.log(`  ${share(noticed, mutants)}, ${unexecuted} not executed  ${file}`)
  }
}
if (values.keep) {
  const all = Object.entries({ ...figures, ...found }).sort(([one], [other]) => one.localeCompare(other))
  writeFileSync(RESULTS, `${JSON.stringify({ stryker: STRYKER, files: Object.fromEntries(all) }, undefined, 2)}\n`)
}

function inRuntime(folder: string): string {
  return `packages/meltproof/${folder}`
}

function share(noticed: number, mutants: number): string {
  return `${((100 * noticed) / mutants).toFixed(1).padStart(5)} % of ${mutants}`
}

function run(command: string, args: readonly string[], cwd = '.'): void {
  const { status } = spawnSync(command, args, { cwd, stdio: 'inherit', env })
  if (status !== 0) process.exit(status ?? 1)
}
