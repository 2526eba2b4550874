/**
 * Runs one measurement of bench/deadline.ts in its own process: `node --expose-gc deadline-arm.ts cost|bytes|late WAY`.
 * Prints one JSON value.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { now } from '../../packages/meltproof/src/clock.ts'
import { startFairTimer } from '../../packages/meltproof/src/deadline/fair-timer.ts'
import { stalledBetween } from '../../packages/meltproof/src/signals/loop-stalls.ts'
import { WAYS } from './deadline-ways.ts'

const [kind, name = ''] = process.argv.slice(2)
const way = WAYS[name]!
/** Longer than any measurement here, so that no limit fires during it. */
const LIMIT_MS = 60_000

switch (kind) {
  case 'cost':
    print(await cost())
    break
  case 'bytes':
    print(await bytes())
    break
  case 'late':
    print(await late())
    break
}

/** CPU to begin and end one limit, us. As in a service, several limits begin in every turn of the loop. */
async function cost(): Promise<number> {
  const PER_TURN = 20
  const turns = async (count: number): Promise<void> => {
    for (let turn = 0; turn < count; turn++) {
      const work: unknown[] = []
      for (let i = 0; i < PER_TURN; i++) work.push(way.once(LIMIT_MS))
      await Promise.all(work)
      await new Promise(setImmediate)
    }
  }
  const empty = async (count: number): Promise<void> => {
    for (let turn = 0; turn < count; turn++) {
      const work: unknown[] = []
      for (let i = 0; i < PER_TURN; i++) work.push(undefined)
      await Promise.all(work)
      await new Promise(setImmediate)
    }
  }
  await turns(1000)
  await empty(1000)
  const TURNS = 5000
  const spent = async (run: (count: number) => Promise<void>): Promise<number> => {
    const before = process.cpuUsage()
    await run(TURNS)
    const { user, system } = process.cpuUsage(before)
    return (user + system) / (TURNS * PER_TURN)
  }
  return (await spent(turns)) - (await spent(empty))
}

/** Bytes of heap that a pending limit holds. */
async function bytes(): Promise<number> {
  const COUNT = 50_000
  const collect = globalThis.gc!
  const used = async (): Promise<number> => {
    for (let i = 0; i < 3; i++) {
      collect()
      await sleep(20)
    }
    return process.memoryUsage().heapUsed
  }
  const kept: unknown[] = new Array(COUNT).fill(undefined)
  way.pending(LIMIT_MS)
  const before = await used()
  for (let i = 0; i < COUNT; i++) kept[i] = way.pending(LIMIT_MS)
  const after = await used()
  process.exitCode = kept.length === COUNT ? 0 : 1
  return (after - before) / COUNT
}

/** How many of 500 limits that pass are reported, and how late, ms after the limit and the stalls that extended it. */
async function late(): Promise<{ told: number; of: number; p50Ms: number; maxMs: number }> {
  const of = 500
  const LATE_LIMIT_MS = 200
  const lateness: number[] = []
  const keeper = setInterval(() => {}, 1000)
  for (let round = 0; round < of / 50; round++) {
    const verdicts = Array.from({ length: 50 }, (_, i) =>
      sleep(i * 3).then(
        () =>
          new Promise<void>(resolve => {
            const startMs = now()
            startFairTimer(LATE_LIMIT_MS, () => {
              const nowMs = now()
              lateness.push(nowMs - startMs - LATE_LIMIT_MS - stalledBetween(startMs, nowMs))
              resolve()
            })
          }),
      ),
    )
    // Blocks the loop in the middle of every second round.
    if (round % 2 === 1) {
      await sleep(200)
      const untilMs = performance.now() + 100
      while (performance.now() < untilMs);
    }
    await Promise.all(verdicts)
  }
  clearInterval(keeper)
  lateness.sort((a, b) => a - b)
  return { told: lateness.length, of, p50Ms: lateness[Math.floor(lateness.length / 2)]!, maxMs: lateness.at(-1)! }
}

function print(value: unknown): void {
  process.stdout.write(JSON.stringify(value), () => process.exit())
}
