import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { test } from 'node:test'
import { appNodes } from '../../src/experiment/run-scenario.ts'
import { isOldNode, nodeVersionOf } from '../../src/processes/node-version.ts'
import { startProtectionCheck } from '../../src/melt/protection-check.ts'

test('nodeVersionOf() finds the Node version below a shell, and is undefined if no Node runs', async t => {
  if (process.platform !== 'linux') return t.skip('takes /proc')
  const shell = spawn('/bin/sh', ['-c', `${process.execPath} -e "setTimeout(() => {}, 20000)"; true`], {
    detached: true,
  })
  t.after(() => process.kill(-shell.pid!, 'SIGKILL'))
  let found: string | undefined
  while (found === undefined) found = await nodeVersionOf(shell.pid!)
  assert.equal(found, process.version)
  const none = spawn('sleep', ['20'])
  t.after(() => none.kill())
  assert.equal(await nodeVersionOf(none.pid!), undefined)
})

test('the versions of the commands are each named once; with their arms if they differ', () => {
  const arms = [
    { name: 'bare', kind: 'bare', what: 'node a.js' },
    { name: 'protected', kind: 'protected', what: 'node a.js' },
    { name: 'old', kind: 'also', what: 'node20 a.js' },
  ] as const
  const found = (old: string): readonly string[] => {
    const [bare, guarded] = [['the command', 'v24.0.0'] as const, ['protected', 'v24.0.0'] as const]
    return appNodes(new Map([bare, guarded, ['old', old]]), arms)
  }
  assert.deepEqual(found('v24.0.0'), ['v24.0.0'])
  assert.deepEqual(found('v20.19.0'), ['v24.0.0 (bare, protected)', 'v20.19.0 (old)'])
  assert.deepEqual(appNodes(new Map(), arms), [])
})

test('Node before 22.12 counts as old', () => {
  assert.deepEqual(['v20.19.0', 'v22.11.9', 'v22.12.0', 'v24.0.0'].map(isOldNode), [true, true, false, false])
})

test('a protected arm on an old Node gets a warning, and the run a doubt', async () => {
  const check = await startProtectionCheck()
  const { createConnection } = await import('node:net')
  const socket = createConnection(check.env['MELTPROOF_WATCH']!)
  socket.write('0\n1\n')
  const heard: string[] = []
  const app = { name: 'protected', node: 'v20.19.0', ended: () => undefined, check() {} }
  await check.run(app, {
    signal: new AbortController().signal,
    line: text => heard.push(text),
    doubt: text => heard.push(text),
  })
  socket.destroy()
  check.close()
  assert.deepEqual(heard, [
    'warning: protected runs on Node v20.19.0: meltproof needs 22.12 or later to protect it completely',
    'protected runs on Node v20.19.0: meltproof needs 22.12 or later to protect it completely',
  ])
})
