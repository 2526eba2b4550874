/**
 * Runs the test suite with Node's own runner: every `*.test.ts` under test/, apps/test/, packages/ and examples/.
 * Arguments that name a file or folder narrow the run: `npm test -- packages/lab`.
 * NODE_BINARY picks another Node to run the suite on (CI: 22 and 26).
 */
import { spawnSync } from 'node:child_process'
import { globSync } from 'node:fs'

const wanted = process.argv.slice(2)
const everything = globSync([
  'test/**/*.test.ts',
  'apps/test/*.test.ts',
  'packages/*/test/**/*.test.ts',
  'examples/*/test/**/*.test.ts',
])
const files = wanted.length === 0 ? everything : everything.filter(file => wanted.some(name => file.startsWith(name)))
if (files.length === 0) {
  console.error(`no test file matches ${wanted.join(', ')}; expected a path such as packages/lab/test`)
  process.exit(2)
}
/**
 * What makes load and measures it runs one file at a time, or they would time each other. The scenarios make load too,
 * but in their brief form are judged by wide ratios only: two at a time. The others ask for no particular speed.
 */
const phaseOf = (file: string): 'measures' | 'scenarios' | 'others' => {
  if (file.startsWith('packages/lab/test/scenarios/')) return 'scenarios'
  return file.startsWith('packages/lab/') ? 'measures' : 'others'
}
const phases = (
  [
    ['measures', 1],
    ['scenarios', 2],
    ['others', 3],
  ] as const
).map(([phase, concurrency]) => ({ files: files.filter(file => phaseOf(file) === phase), concurrency }))
let failed = false
for (const { files: those, concurrency } of phases) {
  if (those.length === 0) continue
  const runner = spawnSync(
    process.env['NODE_BINARY'] ?? process.execPath,
    ['--test', '--test-reporter=spec', `--test-concurrency=${concurrency}`, '--test-timeout=180000', ...those.sort()],
    { stdio: 'inherit' },
  )
  failed ||= runner.status !== 0
  if (runner.signal !== null) break
}
process.exit(failed ? 1 : 0)
