/** No started process outlives the lab, however the lab ended. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { allProcesses } from '../../src/processes/process-tree.ts'

const launcher = `
  const { launch } = await import(${JSON.stringify(import.meta.resolve('../../src/launch/command.ts'))})
  const inner = 'setInterval(() => {}, 1000)'
  const outer = \`require('child_process').spawn(process.execPath, ['-e', '\${inner}']); \${inner}\`
  const app = await launch({ name: 'it', command: [process.execPath, '-e', outer], env: process.env })
  console.log(app.pid)
  if (process.argv[1] === 'stop') await app.stop()
  else setInterval(() => {}, 1000)`

const familyOf = async (pgid: number): Promise<number> =>
  (await allProcesses()).filter(row => row.pgid === pgid && row.state !== 'Z').length

test('kill -9 of the lab ends the app and its child processes', async () => {
  const lab = spawn(process.execPath, ['--input-type=module', '-e', launcher])
  const [said] = (await once(lab.stdout, 'data')) as [Buffer]
  const pid = Number(String(said))
  while ((await familyOf(pid)) < 2) await sleep(20)
  lab.kill('SIGKILL')
  await once(lab, 'exit')
  while ((await familyOf(pid)) > 0) await sleep(20)
})

test('the watchdog of an app does not keep the lab alive, and ends with the app', async () => {
  const lab = spawn(process.execPath, ['--input-type=module', '-e', launcher, 'stop'])
  const before = lab.pid!
  const [said] = (await once(lab.stdout, 'data')) as [Buffer]
  const [code] = (await once(lab, 'exit')) as [number]
  assert.equal(code, 0)
  assert.equal(await familyOf(Number(String(said))), 0)
  assert.ok(!(await allProcesses()).some(row => row.ppid === before))
})
