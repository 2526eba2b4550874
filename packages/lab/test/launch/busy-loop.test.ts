/** The busy loop of the example apps takes as long inside an app as its calibration says. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

/** V8's default of --max-inlined-bytecode-size: longer functions are not inlined. */
const MOST_INLINED = 460

test('the busy loop is too long to be inlined into its callers, where V8 may compile it to slower code', () => {
  const script = fileURLToPath(new URL('../../apps/calibrate.js', import.meta.url))
  const printed = execFileSync(process.execPath, ['--print-bytecode', '--print-bytecode-filter=spin', script], {
    encoding: 'utf8',
    env: { ...process.env, NODE_OPTIONS: '' },
  })
  const length = Number(/Bytecode length: (\d+)/.exec(printed)?.[1])
  assert.ok(length > MOST_INLINED, `${length} bytes`)
})
