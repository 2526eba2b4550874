/**
 * Runs logs.mjs after a child has inherited stdout. libuv makes stdout blocking for the child, and so for this process.
 */
import { spawnSync } from 'node:child_process'

process.stdout.write('first\n')
spawnSync(process.execPath, ['-e', ''], { stdio: ['ignore', 'inherit', 'ignore'], env: {} })
await import('./logs.mjs')
