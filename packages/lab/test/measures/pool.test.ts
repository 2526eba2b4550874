/**
 * A pool of ten connections, 50 ms each, gets ten times its capacity from a cold start, bare and protected. On a core
 * that it shares with V8's compiler the app is busy at first, which once hid that requests waited for connections: then
 * protected kept 0 % in most runs. Since then it keeps 85 to 97 %.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { allowedCores, type Cores, coresOf, pinned } from '../../src/launch/core-pinning.ts'
import { freePort } from '../../src/launch/free-port.ts'
import { accepts } from '../../src/load/target.ts'
import { watchForeign } from '../../src/processes/foreign-cpu.ts'
import { onAQuietMachine } from '../quiet-machine.ts'
import { cli } from '../run-cli.ts'

const APP = path.join(import.meta.dirname, '../../apps/overload/app.js')
const CAPACITY = 200
const SECONDS = 5
const cores = coresOf(allowedCores())

/** A process on one core. Without the compile cache of the test runner it starts cold. */
function start(core: number, args: readonly string[], port: number): ChildProcess {
  const { NODE_COMPILE_CACHE: _, ...env } = process.env
  const [program, ...rest] = pinned([process.execPath, ...args], core)
  return spawn(program!, rest, { env: { ...env, PORT: String(port) }, stdio: ['ignore', 'pipe', 'inherit'] })
}

/** Answers within a second, of the requests that were due after the first second, as a share of the pool's capacity. */
async function kept(arm: string, { server, lab }: Cores): Promise<number> {
  const port = await freePort()
  const app = start(server, [APP, 'pool', arm], port)
  const exited = once(app, 'exit')
  try {
    // A connection without a request leaves the app cold.
    while (!(await accepts('127.0.0.1', port, 1000))) {
      assert.equal(app.exitCode, null, `the app ${arm} has exited`)
      await setTimeout(50)
    }
    const load = ['--rate', `${10 * CAPACITY}`, '--duration', `${SECONDS}s`, '--connections', '4000', '--timeout', '1s']
    const args = [cli, 'attack', `http://127.0.0.1:${port}/`, ...load, '--spacing', 'poisson', '--json', '--quiet']
    const attack = start(lab, args, port)
    const [printed, [code]] = await Promise.all([attack.stdout!.toArray(), once(attack, 'close')])
    assert.equal(code, 0)
    const { seconds } = JSON.parse(printed.join('')) as { readonly seconds: readonly { readonly good?: number }[] }
    const good = seconds.slice(1, SECONDS).reduce((sum, second) => sum + (second.good ?? 0), 0)
    return good / (CAPACITY * (SECONDS - 1))
  } finally {
    app.kill()
    await exited
  }
}

const skip = cores === undefined && 'needs two cores, and taskset (util-linux)'
test('of a pool at ten times its capacity, bare keeps under 10 %, and protected over half', { skip }, async t => {
  const watch = watchForeign([cores!.server, cores!.lab])
  const bare = await kept('bare', cores!)
  const guarded = await kept('meltproof', cores!)
  const foreign = (await watch.stop())?.mean
  assert.ok(bare < 0.1, `bare kept ${bare}`)
  onAQuietMachine(t, foreign, () => assert.ok(guarded > 0.5, `protected kept ${guarded}`))
})
