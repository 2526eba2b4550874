/** Starts the server in a grandchild, like npm scripts. Also starts a detached process in its own session. */
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

spawn('sh', ['-c', 'node "$0" & wait', fileURLToPath(new URL('./pool.mjs', import.meta.url))], { stdio: 'inherit' })
spawn('sleep', ['1000'], { stdio: 'ignore', detached: true })
