/**
 * Runs the test suite with Node's own runner: every `*.test.ts` under test/, apps/test/, packages/ and examples/.
 *
 *   npm test                      builds, then runs all of them: under 8 minutes on two cores
 *   npm test -- packages/lab      those below a path, or several
 *   npm run test:unit             only unit tests: under 30 s, without a build
 *   --unit                        of those chosen, only unit tests (scripts/unit-tests.ts says which those are)
 *   --slowest N                   ends with the N files that took longest
 *
 * NODE_BINARY picks another Node to run the suite on (CI: 22 and 26).
 */
import { spawnSync } from 'node:child_process'
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { scriptOptions } from './script-options.ts'
import { whyNotUnit } from './unit-tests.ts'

const { values, operands, whole, refuse } = scriptOptions(
  import.meta.filename,
  { unit: { type: 'boolean', default: false }, slowest: { type: 'string', default: '0' } },
  { takesOperands: true },
)
const slowest = whole('slowest', 0)
const found = globSync([
  'test/**/*.test.ts',
  'apps/test/*.test.ts',
  'packages/*/test/**/*.test.ts',
  'examples/*/test/**/*.test.ts',
]).sort()
const chosen = found.filter(file => operands.length === 0 || operands.some(name => file.startsWith(name)))
if (chosen.length === 0)
  refuse(`no test file matches ${operands.join(', ')}; expected a path such as packages/lab/test`)
const unit = chosen.filter(file => whyNotUnit(file) === undefined)
if (values.unit && unit.length === 0) refuse(`${operands.join(', ')} holds no unit test`)

/** What judges how fast something was has the machine for itself, one file at a time. */
const MEASURES = ['packages/lab/test/load/', 'packages/lab/test/measures/']
const isMeasure = (file: string): boolean => MEASURES.some(folder => file.startsWith(folder))
const others = values.unit ? [] : chosen.filter(file => !unit.includes(file))
const phases = [
  { files: others.filter(isMeasure), concurrency: 1 },
  // The others mostly wait, but the lab's keep to the same two cores however many there are. The unit tests are short and
  // come last, so that the cores are busy until the end.
  {
    files: [...others.filter(file => !isMeasure(file)).reverse(), ...unit],
    concurrency: values.unit ? availableParallelism() : 3,
  },
].filter(({ files }) => files.length > 0)

const folder = mkdtempSync(join(tmpdir(), 'meltproof-tests-'))
const times: string[] = []
let failed = false
for (const [index, { files, concurrency }] of phases.entries()) {
  const timesFile = join(folder, String(index))
  const reporters = ['--test-reporter=spec', '--test-reporter-destination=stdout']
  if (slowest > 0) {
    reporters.push(
      `--test-reporter=${join(import.meta.dirname, 'file-times.ts')}`,
      `--test-reporter-destination=${timesFile}`,
    )
  }
  const runner = spawnSync(
    process.env['NODE_BINARY'] ?? process.execPath,
    ['--test', ...reporters, `--test-concurrency=${concurrency}`, '--test-timeout=180000', ...files],
    { stdio: 'inherit' },
  )
  if (slowest > 0) times.push(...readFileSync(timesFile, 'utf8').trim().split('\n'))
  failed ||= runner.status !== 0
  if (runner.signal !== null) break
}
rmSync(folder, { recursive: true, force: true })
if (slowest > 0) {
  const sorted = times.map(line => line.split(' ')).sort(([one], [other]) => Number(other) - Number(one))
  console.log(`\nseconds, the slowest ${Math.min(slowest, sorted.length)} of ${sorted.length} files`)
  for (const [ms, file] of sorted.slice(0, slowest)) {
    console.log(`${(Number(ms) / 1000).toFixed(1).padStart(7)}  ${relative('', file!)}`)
  }
}
process.exit(failed ? 1 : 0)
