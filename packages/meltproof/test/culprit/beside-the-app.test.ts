/** What naming stalls must not change in a process: the memory of logged objects, and descriptors that block. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { REGISTER } from '../register/child.ts'

const run = promisify(execFile)
const app = (name: string): string => fileURLToPath(new URL(`apps/${name}`, import.meta.url))
const BARE = {}
const NAMING = { MELTPROOF_CULPRIT: 'on', NODE_OPTIONS: `--import ${REGISTER}` }

test('objects that were logged during stalls can be collected', async () => {
  const heaps = await Promise.all(
    [BARE, NAMING].map(async env => {
      const { stdout } = await run(process.execPath, ['--expose-gc', app('logs.mjs')], {
        env: { ...process.env, ...env },
      })
      return Number(stdout.trim().split('\n').at(-1))
    }),
  )
  const [bare, naming] = heaps as [number, number]
  assert.ok(naming < bare + 40, `${bare} and ${naming} MB of 160 MB that were logged`)
})

test('a descriptor of a slow pipe still blocks', async () => {
  const lines = await Promise.all(
    [BARE, NAMING].map(async env => {
      const command = `"${process.execPath}" "${app('writes.mjs')}" | (sleep 3; wc -l)`
      const { stdout } = await run('sh', ['-c', command], { env: { ...process.env, ...env } })
      return stdout.trim()
    }),
  )
  assert.deepEqual(lines, ['300', '300'])
})
