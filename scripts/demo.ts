/**
 * `npm run demo`: the burst experiment bare, with meltproof and with toobusy-js. Takes about two minutes, or about
 * forty seconds with --quick. Passes further options to `meltlab melt`. Ends with the path of the report, and exits
 * like meltlab. On a terminal, `meltlab live` follows in the browser, unless --no-open is given.
 */
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { shouldOpen } from '../packages/lab/src/live/open-browser.ts'
import { burstAlso, burstCommand } from '../packages/lab/src/scenarios/burst.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const cli = path.join(root, 'packages/lab/dist/cli.js')
/** Ends the live run if the user has left the terminal. */
const LIVE_LASTS = '15m'
if (!existsSync(cli)) {
  console.error(`the lab is not built: ${cli} is missing; run npm run build`)
  process.exit(2)
}
const typed = process.argv.slice(2)
const given = typed.filter(word => word !== '--no-open')
// CI needs only one load below the capacity and one far above it. The recovery would double the time.
const steps = given.includes('--quick') ? ['--at', '0.5,6'] : ['--duration', '5s', '--timeout', '3s']
const also = burstAlso.flatMap(arm => ['--also', arm])

// During a run, Ctrl-C also reaches the lab, which cleans up, reports and decides the exit code.
process.on('SIGINT', () => {})

/** Runs meltlab, and resolves with its exit code. */
function lab(...args: readonly string[]): Promise<number> {
  return new Promise(resolve => {
    const child = spawn(process.execPath, [cli, ...args], { cwd: root, stdio: 'inherit' })
    const end = (): void => void child.kill('SIGTERM')
    process.on('SIGTERM', end)
    child.once('error', error => {
      console.error(`the lab could not be started: ${error.message}`)
      resolve(2)
    })
    child.once('exit', code => {
      process.off('SIGTERM', end)
      resolve(code ?? 1)
    })
  })
}

const code = await lab('melt', '--name', 'burst', '--no-recovery', ...steps, ...also, ...given, '--', ...burstCommand)
const isTerminal = process.stdout.isTTY === true && process.stderr.isTTY === true
const wanted = code === 0 && !typed.includes('--no-open') && !given.includes('--help')
if (!shouldOpen({ wanted, isTerminal, ci: process.env['CI'] })) process.exit(code)
console.log('\nThe same app, live: drag the load. --no-open leaves this out.')
process.exit(await lab('live', '--name', 'burst', '--for', LIVE_LASTS, '--', ...burstCommand))
