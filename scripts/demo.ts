/**
 * `npm run demo`: the burst experiment bare, with meltproof and with toobusy-js; about two minutes, or with --quick
 * about forty seconds. Further options go to `meltlab melt`. Ends with the path of the report; exits as meltlab does.
 */
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { burstAlso, burstCommand } from '../packages/lab/src/scenarios/burst.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const cli = path.join(root, 'packages/lab/dist/cli.js')
if (!existsSync(cli)) {
  console.error(`the lab is not built: ${cli} is missing; run npm run build`)
  process.exit(2)
}
const given = process.argv.slice(2)
// For CI, below the capacity and far above it are enough.
const lengths = given.includes('--quick') ? ['--at', '0.5,6'] : ['--duration', '5s', '--timeout', '3s']
const also = burstAlso.flatMap(arm => ['--also', arm])

// In the middle of a run Ctrl-C reaches the lab too, which cleans up, reports and decides the exit code.
process.on('SIGINT', () => {})
const lab = spawn(
  process.execPath,
  [cli, 'melt', '--name', 'burst', ...lengths, ...also, ...given, '--', ...burstCommand],
  { cwd: root, stdio: 'inherit' },
)
process.on('SIGTERM', () => lab.kill('SIGTERM'))
lab.once('error', error => {
  console.error(`the lab could not be started: ${error.message}`)
  process.exit(2)
})
lab.once('exit', code => process.exit(code ?? 1))
