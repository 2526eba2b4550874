/**
 * The least that any watcher of the event loop costs: with the argument `both`, a timer fires every 50 ms and a worker
 * thread wakes up as often, and neither does anything else. With `none`, the process only waits. Sends its CPU time in
 * ms and its private memory in MB, from the end of its first seconds to its own end, which is after argument 2, in s.
 */
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'

const [kind, seconds] = process.argv.slice(2)
const EVERY_MS = 50
const SETTLES_MS = 5000

if (kind === 'both') {
  setInterval(() => {}, EVERY_MS)
  const sleeps = `const { workerData } = require('node:worker_threads')
    for (;;) Atomics.wait(workerData, 0, 0, ${EVERY_MS})`
  const word = new Int32Array(new SharedArrayBuffer(4))
  // The options of packages/meltproof/src/culprit/watching.ts.
  new Worker(sleeps, {
    eval: true,
    workerData: word,
    env: {},
    execArgv: [],
    stdout: true,
    stderr: true,
    resourceLimits: { maxYoungGenerationSizeMb: 1, maxOldGenerationSizeMb: 16 },
  })
}

const cpuMs = () => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}
await sleep(SETTLES_MS)
const before = cpuMs()
await sleep(Number(seconds) * 1000)
const privateKb = /Private_Dirty:\s+(\d+)/.exec(readFileSync('/proc/self/smaps_rollup', 'utf8'))
process.send({ cpuMs: cpuMs() - before, privateMb: Number(privateKb[1]) / 1024 }, () => process.exit())
