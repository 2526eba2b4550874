/**
 * A server in a process of its own, pinned to one core, that tells how much CPU it has used. The load pins itself to
 * the other core, so CPU per request is the server's own, whatever the client costs.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { choosePinning, type Pinning, pinned, pinSelf } from '../../packages/lab/src/melt/pinning.ts'
import { runLoad } from '../../packages/lab/src/load/run.ts'
import type { LoadOutcome, LoadPlan } from '../../packages/lab/src/load/plan.ts'

/** Chosen before this process pins itself; afterwards it sees a single core. */
export const pinning: Pinning | undefined = choosePinning()
if (pinning !== undefined) pinSelf(pinning.lab)

export interface MeasuredServer {
  readonly url: string
  /** CPU used since the start, user and system, without the slices of a busy server (lib/servers.ts); microseconds. */
  cpuUs(): Promise<number>
  /** What it answers to a message. */
  ask<T>(): Promise<T>
  stop(): Promise<void>
}

/** Starts `script`, which must send `{ port }` when it listens and answer each message with what it has used. */
export async function startServer(
  script: string,
  args: readonly string[],
  node: readonly string[] = [],
): Promise<MeasuredServer> {
  const [command, ...rest] = pinned([process.execPath, ...node, script, ...args], pinning?.server)
  const child: ChildProcess = spawn(command!, rest, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  const [{ port }] = (await once(child, 'message')) as [{ port: number }]
  const ask = async <T>(): Promise<T> => {
    child.send('tell')
    const [answer] = (await once(child, 'message')) as [T]
    return answer
  }
  return {
    url: `http://127.0.0.1:${port}/`,
    cpuUs: () => ask<number>(),
    ask,
    async stop() {
      child.kill('SIGKILL')
      await once(child, 'exit')
    },
  }
}

/** Offers `rate` for `seconds` after a warm-up of two; gives the outcome and the server's CPU per answered request, us. */
export async function cpuPerRequest(
  server: MeasuredServer,
  options: { readonly rate: number; readonly seconds: number; readonly connections: number | 'fresh' },
): Promise<{ readonly us: number; readonly outcome: LoadOutcome }> {
  await runLoad(plan(server.url, { ...options, seconds: 2 }))
  return slice(server, options)
}

/** Without the warm-up. */
async function slice(
  server: MeasuredServer,
  options: { readonly rate: number; readonly seconds: number; readonly connections: number | 'fresh' },
): Promise<{ readonly us: number; readonly outcome: LoadOutcome }> {
  const before = await server.cpuUs()
  const outcome = await runLoad(plan(server.url, options))
  const used = (await server.cpuUs()) - before
  const answered = Object.values(outcome.answered).reduce((sum, n) => sum + n, 0)
  return { us: used / answered, outcome }
}

/**
 * CPU per answered request of two arms of `script`, us, pair by pair. Both run at once, each idle while the other is
 * loaded, and take turns of a second: whatever the machine does to one it does to the other a second later. Whoever goes
 * first changes from pair to pair.
 */
export async function sideBySide(
  script: string,
  arms: readonly [readonly string[], readonly string[]],
  options: { readonly rate: number; readonly pairs: number; readonly connections: number | 'fresh' },
): Promise<(readonly [first: number, second: number])[]> {
  const servers = await Promise.all(arms.map(args => startServer(script, args)))
  const used = async (arm: 0 | 1, seconds: number): Promise<number> =>
    (await slice(servers[arm]!, { ...options, seconds })).us
  await used(0, WARM_UP_S)
  await used(1, WARM_UP_S)
  const pairs: [number, number][] = []
  for (let i = 0; i < options.pairs; i++) {
    const pair: [number, number] = [0, 0]
    for (const arm of i % 2 === 0 ? ([0, 1] as const) : ([1, 0] as const)) pair[arm] = await used(arm, 1)
    pairs.push(pair)
  }
  for (const server of servers) await server.stop()
  return pairs
}

/** V8 has compiled the path by then. */
const WARM_UP_S = 3

export function plan(
  url: string,
  { rate, seconds, connections }: { rate: number; seconds: number; connections: number | 'fresh' },
): LoadPlan {
  return {
    url,
    method: 'GET',
    headers: {},
    body: undefined,
    arrival: {
      kind: 'open',
      schedule: { phases: [{ kind: 'constant', rate, durationMs: seconds * 1000 }], spacing: 'poisson', seed: 1 },
    },
    connections:
      connections === 'fresh' ? { kind: 'fresh' } : { kind: 'keep-alive', count: connections, max: connections },
    timeoutMs: 10_000,
    connectTimeoutMs: 5000,
    sloMs: 1000,
    threads: 1,
  }
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}
