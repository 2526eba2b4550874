/** Starts a child in another folder, which says whether it has loaded meltproof/register. */
import { spawnSync } from 'node:child_process'
import { tmpdir } from 'node:os'

const says = "console.log(process[Symbol.for('meltproof.register')] ? 'registered' : 'bare')"
spawnSync(process.execPath, ['--eval', says], { cwd: tmpdir(), stdio: 'inherit' })
