/**
 * Runs one client and one arm of bench/outbound.ts in its own process, and prints one line of JSON:
 * `node outbound-arm.ts CLIENT ARM BACKENDS [ROUNDS]`.
 */
import { stat } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Arm, type Backends, CLIENTS, CONCURRENT, isTimeout } from './outbound-clients.ts'

const LIMIT_MS = 200
const STALL_MS = 300
/** Shorter than the limit, so that the limit passes after the stall and is extended by it, ms. */
const SHORT_STALL_MS = 100

export interface ArmResult {
  readonly lateCalls: number
  /** Calls that answered in 50 ms and were reported as timeouts. */
  readonly falseTimeouts: number
  readonly otherErrors: readonly string[]
  readonly neverCalls: number
  readonly reported: number
  /** Time from the limit to the report of a timeout, ms. For GIVES_BACK clients, without the stalls of the loop. */
  readonly overrunMs: { readonly p50: number; readonly p99: number; readonly max: number }
}

const [name = '', arm = 'bare', backends = '{}', rounds = '20'] = process.argv.slice(2)
/** True for clients whose limits are extended by every stall. The error says by how much. */
const GIVES_BACK = name === 'ioredis' || name === 'pg'
const client = CLIENTS[name]!.make(arm as Arm, JSON.parse(backends) as Backends, LIMIT_MS)
const NEVER_SETTLED_MS = 5_000
const together = (call: () => Promise<unknown>): Promise<unknown>[] =>
  Array.from({ length: CONCURRENT }, () => Promise.race([call(), neverSettled()]))
const others = new Map<string, number>()
const other = (error: unknown): void => {
  const text = String(error).slice(0, 120)
  others.set(text, (others.get(text) ?? 0) + 1)
}

// Warms connections and code before anything is counted.
for (let i = 0; i < 3; i++) await Promise.allSettled(together(() => client.late()))
await sleep(300)

let falseTimeouts = 0
let lateCalls = 0
for (let round = 0; round < Number(rounds); round++) {
  const calls = together(() => client.late())
  const settled = Promise.allSettled(calls)
  await sleep(20)
  await blockInIoCallback(STALL_MS)
  for (const result of await settled) {
    lateCalls++
    if (result.status === 'fulfilled') continue
    if (isTimeout(result.reason)) falseTimeouts++
    else other(result.reason)
  }
  await sleep(20)
}

const overruns: number[] = []
let neverCalls = 0
for (let round = 0; round < Math.ceil(Number(rounds) / 3); round++) {
  const stallMs = round % 2 === 0 ? 0 : SHORT_STALL_MS
  const calls = together(async () => {
    const startMs = performance.now()
    try {
      await client.never()
    } catch (error) {
      if (!isTimeout(error)) other(error)
      // A stall after a call was sent extends neither the limit of meltproof/outbound nor the client's own timeout.
      else overruns.push(performance.now() - startMs - LIMIT_MS - (GIVES_BACK ? ownStallMs(error) : 0))
    }
  })
  neverCalls += calls.length
  const settled = Promise.all(calls)
  if (stallMs > 0) {
    await sleep(20)
    await blockInIoCallback(stallMs)
  }
  await settled
  await sleep(1_300)
  // Opens connections again: pg may have lost all of them to timeouts, and the time to connect must not count.
  await Promise.allSettled(together(() => client.late()))
}
overruns.sort((a, b) => a - b)
const at = (q: number): number => Math.round((overruns[Math.ceil(q * overruns.length) - 1] ?? Number.NaN) * 10) / 10
const result: ArmResult = {
  lateCalls,
  falseTimeouts,
  otherErrors: [...others].map(([text, count]) => `${count}x ${text}`),
  neverCalls,
  reported: overruns.length,
  overrunMs: { p50: at(0.5), p99: at(0.99), max: at(1) },
}
console.log(JSON.stringify(result))
// Not awaited, because a pool that lost a client to its own timeout may never end.
void client.close()
process.exit()

/** Counts a call that its client never settles as an error, so that it does not stop the benchmark. */
async function neverSettled(): Promise<never> {
  await sleep(NEVER_SETTLED_MS, undefined, { ref: false })
  throw new Error('never settled')
}

/** The part of the wait in which our own loop stalled, from the causes of the error. */
function ownStallMs(error: unknown): number {
  for (let at = error, i = 0; at instanceof Error && i < 5; i++, at = at.cause) {
    const { ownStallMs: stalledMs } = at as { ownStallMs?: number }
    if (stalledMs !== undefined) return stalledMs
  }
  return 0
}

/** Blocks the loop like a busy handler. After it, the loop runs its timers before it polls again. */
function blockInIoCallback(ms: number): Promise<void> {
  return new Promise(resolve =>
    stat('/', () => {
      const untilMs = performance.now() + ms
      while (performance.now() < untilMs);
      resolve()
    }),
  )
}
