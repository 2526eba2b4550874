/**
 * Are the reported latencies right when the server stalls, and when the generator itself is stopped? The truth is
 * known, because latency counts from the schedule. This tests correctness, not speed, so the margins are wide.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import { describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { watchForeign } from '../../src/processes/foreign-cpu.ts'
import type { AttackDocument } from '../../src/results/attack-document.ts'
import { onAQuietMachine } from '../quiet-machine.ts'

const CLI = fileURLToPath(new URL('../../src/cli.ts', import.meta.url))

/** Answers at once, but blocks its loop for `stallMs` once, `afterMs` after the first request. */
const SERVER = `
  const [stallMs, afterMs] = process.argv.slice(1).map(Number)
  const server = require('node:http').createServer((_, res) => res.end('ok'))
  server.once('request', () => stallMs && setTimeout(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, stallMs), afterMs))
  server.listen(0, '127.0.0.1', () => console.log(server.address().port))
`

const withServer = async (stallMs: number, afterMs: number, use: (url: string) => Promise<void>): Promise<void> => {
  const server = spawn(process.execPath, ['-e', SERVER, String(stallMs), String(afterMs)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  try {
    const [port] = (await once(server.stdout, 'data')) as [Buffer]
    await use(`http://127.0.0.1:${Number(port)}/`)
  } finally {
    server.kill('SIGKILL')
  }
}

const attack = (url: string, seconds: number) => {
  const child = spawn(
    process.execPath,
    [CLI, 'attack', url, '--rate', '500', '--duration', `${seconds}s`, '--json', '--quiet'],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  )
  let text = ''
  child.stdout.setEncoding('utf8').on('data', part => {
    text += part
  })
  const report = once(child, 'close').then(() => JSON.parse(text) as AttackDocument)
  return { child, report }
}

/**
 * The margins allow for another process that takes the core for a few hundred milliseconds, which is then part of the
 * truth. Tools that miss the stall or the freeze report 0 to 110 ms for all of these.
 */
const near = (what: string, got: number | null, truth: number, margin: number): void => {
  assert.ok(got !== null && Math.abs(got - truth) <= margin, `${what} is ${got}, the truth ${truth} +- ${margin}`)
}

const cores = Array.from({ length: availableParallelism() }, (_, core) => core)

const wait = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))

// Both tests mostly wait, so they can run concurrently.
describe('the reported latency', { concurrency: true }, () => {
  it('includes a stall of the server: 2 s once in a run of 10 s at 500/s', async context => {
    await withServer(2000, 3000, async url => {
      const watch = watchForeign(cores)
      const { scheduled, sent, answered, failed, latencyMs } = await attack(url, 10).report
      assert.equal(scheduled, 5000)
      assert.equal(sent, 5000)
      assert.deepEqual(answered, { 200: 5000 })
      assert.deepEqual(failed, {})
      onAQuietMachine(context, (await watch.stop())?.mean, () => {
        near('p50', latencyMs.p50, 0, 20)
        near('p90', latencyMs.p90, 1000, 400)
        near('p99', latencyMs.p99, 1900, 400)
        near('max', latencyMs.max, 2000, 500)
      })
    })
  })

  it('includes a freeze of the generator (1 s in 8 s at 500/s), and the run is not certified', async context => {
    await withServer(0, 0, async url => {
      const watch = watchForeign(cores)
      const { child, report } = attack(url, 8)
      await wait(4000)
      child.kill('SIGSTOP')
      await wait(1000)
      child.kill('SIGCONT')
      const { scheduled, sent, answered, latencyMs, certified, why } = await report
      assert.equal(scheduled, 4000)
      assert.equal(sent, 4000)
      assert.deepEqual(answered, { 200: 4000 })
      onAQuietMachine(context, (await watch.stop())?.mean, () => {
        near('p50', latencyMs.p50, 0, 20)
        near('p90', latencyMs.p90, 350, 230)
        near('p99', latencyMs.p99, 950, 300)
        near('max', latencyMs.max, 1050, 350)
        assert.equal(certified, false)
        assert.match(why.join(' '), /The generator was frozen .*for (9|1[0-3])\d\d ms/)
      })
    })
  })
})
