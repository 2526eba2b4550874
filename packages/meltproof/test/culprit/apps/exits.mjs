/**
 * Exits during a stall that the watcher has sampled, or at rest, as HOW says. Prints how often the main thread waited
 * for another thread.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { watchStalls } from 'meltproof/culprit'

const { wait } = Atomics
let waits = 0
Atomics.wait = (...args) => {
  waits++
  return wait(...args)
}
const stop = watchStalls({ onWarning: () => undefined })
process.once('exit', () => console.log(JSON.stringify({ waits })))

const LOOK = Symbol.for('meltproof.culprit.look')
const look = globalThis[LOOK]
let isSampled = false
const looked = () => {
  isSampled = true
  return look()
}
Object.defineProperty(globalThis, LOOK, { value: looked, configurable: true })

await sleep(1500)
while (!isSampled) performance.now()
const { HOW } = process.env
if (HOW === 'at rest') await sleep(1500)
if (HOW === 'stopped') stop()
if (HOW === 'error') throw new Error('thrown')
process.exit()
