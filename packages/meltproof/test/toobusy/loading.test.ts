/** Every way to get hold of it, in processes of their own, on the built package. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'

const FORMS = ['require.cjs', 'import.mjs', 'both.mjs']

for (const form of FORMS) {
  test(`${form}: exports the function, which sees a stall, and the process ends by itself`, async () => {
    const child = spawn(process.execPath, [join(import.meta.dirname, 'apps', form)], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, NODE_OPTIONS: '' },
    })
    const ended = new Promise<number | null>(resolve => child.once('exit', resolve))
    const [code, out, errors] = await Promise.all([ended, text(child.stdout), text(child.stderr)])
    // Node 22.12 alone warns of every require() of an ES module.
    const warned = process.version.startsWith('v22.12.') ? '' : errors
    assert.deepEqual({ code, out, errors: warned }, { code: 0, out: 'function true true\n', errors: '' })
  })
}
