/** A generator that did not run for a while: the answers in its sockets were in time, and are not timeouts. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { nowMs } from '../../src/load/clock.ts'
import type { Connection } from '../../src/load/connection.ts'
import { Engine } from '../../src/load/engine.ts'
import { prepare } from '../../src/load/prepare.ts'
import { constant, planFor, total } from './servers.ts'

const SERVER = `require('node:http').createServer((_, res) => setTimeout(() => res.end('ok'), 100))
  .listen(0, '127.0.0.1', function () { console.log(this.address().port) })`

const REQUESTS = 20
const TIMEOUT_MS = 1000

/** Blocks in the callback that reads the first answer, while the others arrive. */
class HeldEngine extends Engine {
  #held = false

  override onAnswer(connection: Connection, status: number, reusable: boolean): void {
    if (!this.#held) {
      this.#held = true
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2 * TIMEOUT_MS)
    }
    super.onAnswer(connection, status, reusable)
  }
}

test('after a pause of the generator, responses are read before requests time out', async () => {
  const server = spawn(process.execPath, ['-e', SERVER], { stdio: ['ignore', 'pipe', 'inherit'] })
  try {
    const [port] = (await once(server.stdout, 'data')) as [Buffer]
    const url = `http://127.0.0.1:${Number(port)}/`
    const plan = planFor(url, {
      arrival: constant(REQUESTS * 20, 50),
      connections: { kind: 'keep-alive', count: REQUESTS, max: REQUESTS },
      timeoutMs: TIMEOUT_MS,
    })
    const { requests } = prepare(plan)
    const peers = [{ index: 0, address: '127.0.0.1', port: Number(port), tlsName: undefined }]
    const control = new Int32Array(new SharedArrayBuffer(4))
    const engine = new HeldEngine({ plan, peers, requests, worker: 0, workers: 1, control })
    await engine.open()
    const { tally } = await engine.run(nowMs())
    assert.equal(tally.sent, REQUESTS)
    assert.deepEqual(tally.failed, {})
    assert.equal(total(tally.answered), REQUESTS)
  } finally {
    server.kill('SIGKILL')
  }
})
