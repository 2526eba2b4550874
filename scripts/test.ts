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
// One file at a time: these tests start servers and generate load, and two of them on two cores would time each other.
const runner = spawnSync(
  process.env['NODE_BINARY'] ?? process.execPath,
  ['--test', '--test-concurrency=1', '--test-timeout=180000', ...files.sort()],
  { stdio: 'inherit' },
)
process.exit(runner.status ?? 1)
