/**
 * A server in a process of its own, pinned to one core, that tells how much CPU it has used. The load pins itself to
 * the other core, so CPU per request is the server's own, whatever the client costs.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { choosePinning, type Pinning, pinned, pinSelf } from '../../packages/lab/src/launch/core-pinning.ts'
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
  ask<T>(message?: string): Promise<T>
  /** Of another port that it named when it began to listen. */
  urlOf(port: string): string
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
  const [ports] = (await once(child, 'message')) as [Record<string, number>]
  const urlOf = (port: string): string => `http://127.0.0.1:${ports[port]}/`
  const ask = async <T>(message = 'tell'): Promise<T> => {
    child.send(message)
    const [answer] = (await once(child, 'message')) as [T]
    return answer
  }
  return {
    url: urlOf('port'),
    urlOf,
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
