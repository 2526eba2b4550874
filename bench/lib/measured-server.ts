/**
 * A server in its own process, pinned to one core, that reports the CPU it has used. The load pins itself to the other
 * core, so the CPU per request is that of the server, independent of the cost of the client.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { allowedCores, type Cores, coresOf, pinned, pinSelf } from '../../packages/lab/src/launch/core-pinning.ts'
import { planOf } from '../../packages/lab/src/load/load-request.ts'
import { median as medianOf } from '../../packages/lab/src/melt/summary.ts'
import { runLoad } from '../../packages/lab/src/load/run.ts'
import type { LoadPlan } from '../../packages/lab/src/load/plan.ts'

/** Chosen before this process pins itself, because afterwards it sees a single core. */
export const pinning: Cores | undefined = coresOf(allowedCores())
if (pinning !== undefined) pinSelf(pinning.lab)

export interface MeasuredServer {
  readonly url: string
  /** User and system CPU since the start, us, without the other work of a busy server (lib/shed-servers.ts). */
  cpuUs(): Promise<number>
  /** The answer to a message. */
  ask<T>(message?: string): Promise<T>
  /** URL of another port that the server sent when it began to listen, by the name of the port. */
  urlOf(port: string): string
  stop(): Promise<void>
}

/** Starts `script`, which must send `{ port }` when it listens, and answer each message with its usage. */
export async function startServer(
  script: string,
  args: readonly string[],
  node: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Promise<MeasuredServer> {
  const [command, ...rest] = pinned([process.execPath, ...node, script, ...args], pinning?.server)
  const child: ChildProcess = spawn(command!, rest, {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
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

/** Offers `rate` for `seconds` after a warm-up of 2 s. Returns the CPU of the server per answered request, us. */
export async function cpuPerRequest(server: MeasuredServer, load: Parameters<typeof plan>[1]): Promise<number> {
  await runLoad(plan(server.url, { ...load, seconds: 2 }))
  const before = await server.cpuUs()
  const { answered } = await runLoad(plan(server.url, load))
  const used = (await server.cpuUs()) - before
  return used / Object.values(answered).reduce((sum, count) => sum + count, 0)
}

export function plan(
  url: string,
  { rate, seconds, connections }: { rate: number; seconds: number; connections: number | 'fresh' },
): LoadPlan {
  const durationMs = seconds * 1000
  const request = { url, rate, durationMs, timeoutMs: 10_000, spacing: 'poisson' } as const
  return {
    ...planOf({ ...request, fresh: connections === 'fresh' }),
    ...(connections === 'fresh' ? {} : { connections: { kind: 'keep-alive', count: connections, max: connections } }),
  }
}

/** Median of at least one value. */
export const median = (values: readonly number[]): number => medianOf(values)!

/** Ratios of neighbouring turns, one of them with the measured feature and the other without: with over without. */
export function ratiosOfTurns(turns: readonly { readonly on: boolean; readonly us: number }[]): number[] {
  return turns.flatMap((turn, at) => {
    const before = turns[at - 1]
    if (before === undefined || before.on === turn.on) return []
    return [turn.on ? turn.us / before.us : before.us / turn.us]
  })
}
