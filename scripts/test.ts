/**
 * Runs the test suite with Node's own runner: every `*.test.ts` under test/, packages/ and examples/.
 * Arguments that name a file or folder narrow the run: `npm test -- packages/lab`.
 * NODE_BINARY picks another Node to run the suite on (CI: 22 and 26).
 */
import { spawnSync } from 'node:child_process'
import { globSync } from 'node:fs'

const wanted = process.argv.slice(2)
const everything = globSync(['test/**/*.test.ts', 'packages/*/test/**/*.test.ts', 'examples/*/test/**/*.test.ts'])
const files = wanted.length === 0 ? everything : everything.filter(file => wanted.some(name => file.startsWith(name)))
if (files.length === 0) {
  console.error(`no test file matches ${wanted.join(', ')}; expected a path such as packages/lab/test`)
  process.exit(2)
}
/**
 * The lab's tests make load and measure it: one file at a time, or they would time each other. The others ask for no
 * particular speed and share the cores.
 */
const MEASURING = 'packages/lab/'
const phases = [
  { files: files.filter(file => file.startsWith(MEASURING)), concurrency: 1 },
  { files: files.filter(file => !file.startsWith(MEASURING)), concurrency: 3 },
]
let failed = false
for (const { files: those, concurrency } of phases) {
  if (those.length === 0) continue
  const runner = spawnSync(
    process.env['NODE_BINARY'] ?? process.execPath,
    ['--test', `--test-concurrency=${concurrency}`, '--test-timeout=180000', ...those.sort()],
    { stdio: 'inherit' },
  )
  failed ||= runner.status !== 0
  if (runner.signal !== null) break
}
process.exit(failed ? 1 : 0)
