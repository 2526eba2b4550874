/**
 * A pool of ten connections, 50 ms each, gets ten times its capacity from a cold start, bare and protected. On a core
 * that it shares with V8's compiler the app is busy at first, which once hid that requests waited for connections.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import net from 'node:net'
import path from 'node:path'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { allowedCores, coresOf, pinned } from '../../src/launch/core-pinning.ts'
import { freePort } from '../../src/launch/free-port.ts'
import { runCli } from '../run-cli.ts'

const APP = path.join(import.meta.dirname, '../../apps/overload/app.js')
const CAPACITY = 200
const SECONDS = 5
const core = coresOf(allowedCores())?.server

/** Answers within a second, of the requests that were due after the first second, as a share of the pool's capacity. */
async function kept(arm: string): Promise<number> {
  const port = await freePort()
  const [program, ...args] = pinned([process.execPath, APP, 'pool', arm], core)
  const { NODE_COMPILE_CACHE: _, ...env } = process.env
  const app = spawn(program!, args, { env: { ...env, PORT: String(port) } })
  try {
    // A connection without a request leaves the app cold.
    while (!(await accepts(port))) await setTimeout(50)
    const load = ['--rate', `${10 * CAPACITY}`, '--duration', `${SECONDS}s`, '--connections', '5000', '--timeout', '2s']
    const url = `http://127.0.0.1:${port}/`
    const { stdout, stderr } = await runCli(['attack', url, ...load, '--spacing', 'poisson', '--json', '--quiet'])
    const { seconds } = JSON.parse(stdout || stderr) as { readonly seconds: readonly { readonly good?: number }[] }
    const good = seconds.slice(1, SECONDS).reduce((sum, second) => sum + (second.good ?? 0), 0)
    return good / (CAPACITY * (SECONDS - 1))
  } finally {
    app.kill()
    await once(app, 'exit')
  }
}

async function accepts(port: number): Promise<boolean> {
  const socket = net.connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}

test('of a pool at ten times its capacity, bare keeps less than 10 %, and protected more than half', async () => {
  const bare = await kept('bare')
  assert.ok(bare < 0.1, `bare kept ${bare}`)
  const guarded = await kept('meltproof')
  assert.ok(guarded > 0.5, `protected kept ${guarded}`)
})
