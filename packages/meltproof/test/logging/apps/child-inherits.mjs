/** logs.mjs after a child has inherited stdout: libuv sets it to block for the child, and so for everyone. */
import { spawnSync } from 'node:child_process'

process.stdout.write('first\n')
spawnSync(process.execPath, ['-e', ''], { stdio: ['ignore', 'inherit', 'ignore'], env: {} })
await import('./logs.mjs')
