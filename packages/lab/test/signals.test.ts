/** Ctrl-C and other signals may arrive at any time. `meltlab` has an exit code for each from its start. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { mock, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { onSignal } from '../src/signals.ts'

const source = (name: string): string => fileURLToPath(new URL(`../src/${name}`, import.meta.url))

/** Sends the signal as soon as there is a listener, when the setup by Node itself is complete. */
const atOnce = (signal: string): string =>
  `data:text/javascript,process.on('newListener',name=>name==='${signal}'%26%26process.kill(process.pid,name))`

async function interrupted(signal: NodeJS.Signals): Promise<{ code: number | null; stderr: string }> {
  const child = spawn(process.execPath, ['--import', atOnce(signal), source('cli.ts'), 'melt'], {
    stdio: ['pipe', 'ignore', 'pipe'],
  })
  const [stderr, [code]] = await Promise.all([text(child.stderr), once(child, 'close') as Promise<[number | null]>])
  child.stdin.destroy()
  return { code, stderr }
}

// This holds for every command, because the command line is not read yet (see the last test).
for (const [signal, code, by] of [
  ['SIGINT', 130, 'Ctrl-C'],
  ['SIGTERM', 143, 'SIGTERM'],
  ['SIGHUP', 129, 'SIGHUP'],
] as const) {
  test(`${signal} right after the start ends it with the exit code of the signal`, async () => {
    assert.deepEqual(await interrupted(signal), { code, stderr: `meltlab: stopped by ${by}\n` })
  })
}

test('a repeated signal within 400 ms is ignored, and another signal or a later one is reported', () => {
  mock.timers.enable({ apis: ['setTimeout'] })
  const told: string[] = []
  const end = onSignal(({ by }) => told.push(by))
  process.emit('SIGINT')
  mock.timers.tick(300)
  process.emit('SIGINT')
  assert.deepEqual(told, ['Ctrl-C'])
  process.emit('SIGTERM')
  assert.deepEqual(told, ['Ctrl-C', 'SIGTERM'], 'another signal is another one')
  mock.timers.tick(200)
  process.emit('SIGINT')
  assert.deepEqual(told, ['Ctrl-C', 'SIGTERM', 'Ctrl-C'])
  end()
  mock.timers.reset()
})

test('the entry point imports nothing but the signal handlers and the version check', () => {
  const imported = (name: string): (string | undefined)[] =>
    [...readFileSync(source(name), 'utf8').matchAll(/^(?:import|export)\b[^'(]*'([^']+)'/gm)].map(match => match[1])
  assert.deepEqual(imported('cli.ts'), ['./node-version.ts', './signals.ts'])
  assert.deepEqual(imported('node-version.ts'), ['node:process'])
  assert.deepEqual(imported('signals.ts'), ['node:process'])
})
