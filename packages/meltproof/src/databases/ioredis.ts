/** meltproof/ioredis: bound() for clients of ioredis (5 and later). */
import { markBound, unknownClient } from '../outbound/bound-client.ts'
import { Budget } from '../deadline/budget.ts'
import { currentBudget, openBudget } from '../deadline/context.ts'
import { Call } from '../outbound/call.ts'
import { checkLimits } from './limits.ts'

export interface RedisLimits {
  /**
   * How long a command may take. Milliseconds. A budget shrinks it; commands that wait on purpose (BLPOP, XREAD with
   * BLOCK, WAIT) have the budget alone. @default 10_000
   */
  readonly commandMs?: number | false
}

/**
 * Bounds a client of ioredis, in place, and returns it. Every command, also in pipelines and transactions and while the
 * client is not connected, gets a deadline: `commandMs`, or what is left of its budget. When it passes, its promise
 * rejects with a DeadlineExceededError, and the late answer is dropped. One that was sent may still be executed.
 *
 * @throws MeltproofError `MELTPROOF_CLIENT_INVALID` for anything else, and for limits unknown or out of range.
 */
export function bound<T extends object>(client: T, limits: RedisLimits = {}): T {
  const { commandMs } = checkLimits(limits, ['commandMs'])
  if (!isRedis(client)) throw unknownClient('ioredis', 'a client of the package ioredis (5 or later)', client)
  if (!markBound(client)) return client
  const original = client.sendCommand
  const seen = new WeakSet<Command>()
  const redis: Redis = client
  redis.sendCommand = (command, stream) => {
    // A command comes here again when the connection is ready, or back.
    if (seen.has(command) || isOwn(redis, command)) return original.call(redis, command, stream)
    seen.add(command)
    const limitMs = waitsOnPurpose(command) ? Number.POSITIVE_INFINITY : commandMs
    // Commands gathered by auto-pipelining are sent in the context of the first of them; its budget is not theirs.
    const parent = redis.options.enableAutoPipelining === true ? undefined : currentBudget()
    if (limitMs === Number.POSITIVE_INFINITY && parent === undefined) return original.call(redis, command, stream)
    const name = command.name.toUpperCase()
    const budget = openBudget(limitMs, { phase: 'command', what: `the Redis command ${name}`, parent })
    if (!(budget instanceof Budget)) {
      // One of a transaction has to be sent with the others, or their answers would be taken for one another's.
      const sent = stream === undefined ? command.promise : original.call(redis, command, stream)
      command.reject(budget)
      return sent
    }
    budget.onEnd(reason => command.reject(reason))
    const { host, port, db } = redis.options
    const call = Call.database('redis', { host, port, database: db }, name)
    const over = (error?: unknown): void => {
      budget.settle()
      call?.end(error)
    }
    command.promise.then(() => over(), over)
    return original.call(redis, command, stream)
  }
  return client
}

// What is used of ioredis, by shape: it is an optional peer, and several copies of it may be installed.

interface Command {
  readonly name: string
  readonly args: readonly unknown[]
  readonly promise: Promise<unknown>
  reject(error: unknown): void
}

interface Redis {
  sendCommand: (command: Command, stream?: unknown) => unknown
  readonly status: string
  readonly options: { readonly enableAutoPipelining?: boolean; host?: unknown; port?: unknown; db?: unknown }
}

function isRedis(value: object): value is Redis {
  const { sendCommand, status, options } = value as Partial<Redis>
  return typeof sendCommand === 'function' && typeof status === 'string' && typeof options === 'object'
}

/** What ioredis sends by itself; failing one would break the connection. */
const HANDSHAKE = new Set(['auth', 'hello', 'info', 'select', 'client', 'readonly'])
function isOwn(redis: Redis, { name }: Command): boolean {
  return redis.status === 'connect' && HANDSHAKE.has(name.toLowerCase())
}

const BLOCKING = new Set(
  'blpop brpop brpoplpush blmove blmpop bzpopmin bzpopmax bzmpop wait waitaof monitor'.split(' '),
)
const MAY_BLOCK = new Set(['xread', 'xreadgroup'])
function waitsOnPurpose({ name, args }: Command): boolean {
  const lower = name.toLowerCase()
  if (BLOCKING.has(lower) || lower.endsWith('subscribe')) return true
  return MAY_BLOCK.has(lower) && args.some(arg => typeof arg === 'string' && arg.toLowerCase() === 'block')
}
