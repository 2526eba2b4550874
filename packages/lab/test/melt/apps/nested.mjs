/** Starts the server in a grandchild, as npm scripts do, one of them in a session of its own. */
import { spawn } from 'node:child_process'

spawn('sh', ['-c', 'node "$0" & wait', new URL('./pool.mjs', import.meta.url).pathname], { stdio: 'inherit' })
spawn('sleep', ['1000'], { stdio: 'ignore', detached: true })
