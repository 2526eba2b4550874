/** meltproof/ioredis: bound() for clients of ioredis (5 and later). */
import { Budget } from '../deadline/budget.ts'
import { currentBudget, openBudget } from '../deadline/context.ts'
import { markBound, unknownClient } from '../outbound/bound-client.ts'
import { Call } from '../outbound/call.ts'
import { loneCancellations } from './cancellations.ts'
import { Graces } from './graces.ts'
import { checkLimits, GRACE_MS } from './limits.ts'
import { isHandshake, listens, waitsOnPurpose } from './redis-commands.ts'
import { RedisState } from './redis-state.ts'
import { type Duplicable, unblocking } from './redis-unblock.ts'

/** @experimental */
export interface RedisLimits {
  /**
   * How long a command may take. Milliseconds. A budget shortens it; commands that wait on purpose (BLPOP, XREAD with
   * BLOCK, WAIT) are limited by the budget only. @default 10_000
   */
  readonly commandMs?: number | false
}

/**
 * Limits a client of ioredis, in place, and returns it. Every command, also in pipelines and transactions and while the
 * client is not connected, gets a deadline: `commandMs`, or the rest of its budget. When it passes, its promise rejects
 * with a DeadlineExceededError, and the late answer is ignored. A command that was sent may still be executed.
 *
 * @throws MeltproofError `MELTPROOF_CLIENT_INVALID` for anything else, and for limits unknown or out of range.
 * @experimental
 */
export function bound<T extends object>(client: T, limits: RedisLimits = {}): T {
  const { commandMs } = checkLimits(limits, ['commandMs'])
  if (!isRedis(client)) throw unknownClient('ioredis', 'a client of the package ioredis (5 or later)', client)
  if (markBound(client)) patch(client, commandMs)
  return client
}

function patch(redis: Redis, commandMs: number): void {
  const original = redis.sendCommand
  const seen = new WeakSet<Command>()
  /** Commands whose callers have an error, and which are therefore not sent any more. */
  const givenUp = new WeakSet<Command>()
  /** A pipeline is sent as a whole or not at all: with one command fewer, answers would go to the wrong commands. */
  const refusedPipelines = new WeakMap<object, Error | undefined>()
  const graces = new Graces()
  const close = (): void => {
    // Otherwise the connection is already closed.
    if (redis.status === 'ready') redis.disconnect?.(true)
  }
  const state = new RedisState(GRACE_MS, close)
  redis.on?.('close', () => state.gone())

  const open = (name: string, limitMs: number, parent: Budget | undefined): Budget | Error => {
    const given = { phase: 'command', what: `the Redis command ${name.toUpperCase()}` } as const
    const budget = openBudget(limitMs, { ...given, parent })
    // A command that waits on purpose is not cleanup.
    return budget instanceof Budget || limitMs === Number.POSITIVE_INFINITY
      ? budget
      : graces.open(parent, given, budget)
  }

  /** Redis must not hand data to a caller that has left; what it has handed out by then is delivered. */
  const endWait = (command: Command, id: Promise<unknown> | undefined, reason: Error): void => {
    const closed = (): void => command.reject(reason)
    const over = (): void => void redis.removeListener?.('close', closed)
    redis.once?.('close', closed)
    command.promise.then(over, over)
    if (id !== undefined && isDuplicable(redis)) {
      loneCancellations.run(unblocking(redis, command, id, reason), outcome => {
        if (outcome !== 'processed') close()
      })
      return
    }
    close()
    // The answer would make the client a subscriber, although its caller has given up.
    if (listens(command.name.toLowerCase())) redis.stream?.destroy()
  }

  /** The server's id of this connection, requested before a command that another connection may have to unblock. */
  const idBefore = (command: Command): Promise<unknown> | undefined => {
    // Inside a MULTI no command waits, and the request for the id would become part of it.
    if (state.isIn('multi')) return undefined
    const question = new (command.constructor as new (name: string, args: string[]) => Command)('client', ['ID'])
    original.call(redis, question)
    question.promise.catch(() => {})
    return question.promise
  }

  redis.sendCommand = (command, stream, ...rest) => {
    const send = (): unknown => original.call(redis, command, stream, ...rest)
    const name = command.name.toLowerCase()
    // A command arrives here again when the connection becomes ready, or ready again.
    if (givenUp.has(command) && stream === undefined) return command.promise
    if (seen.has(command) || (redis.status === 'connect' && isHandshake(name))) return send()
    seen.add(command)
    const waits = waitsOnPurpose(name, command.args)
    // QUIT is sent even if its caller got an error; otherwise the client would stay connected, or reconnect.
    const isKept = name === 'quit' && stream === undefined
    // Commands collected by auto-pipelining are sent in the context of the first one, whose budget is not theirs.
    const parent = redis.options.enableAutoPipelining === true ? undefined : currentBudget()
    const limitMs = waits ? Number.POSITIVE_INFINITY : commandMs
    const budget = refusedPipelines.get(stream ?? command) ?? state.refusal(name) ?? open(name, limitMs, parent)
    if (stream !== undefined && !refusedPipelines.has(stream)) {
      refusedPipelines.set(stream, budget instanceof Budget ? undefined : budget)
    }
    if (!(budget instanceof Budget)) {
      state.late(name, budget)
      command.reject(budget)
      // With command tracing, the promise of the command is another one than the caller's.
      if (isKept) Promise.resolve(send()).catch(() => {})
      return command.promise
    }
    const id = waits && parent !== undefined && stream === undefined && !listens(name) ? idBefore(command) : undefined
    budget.onEnd(reason => {
      if (!isKept) givenUp.add(command)
      if (waits && redis.status === 'ready' && !('nodes' in redis)) return endWait(command, id, reason)
      state.late(name, reason)
      command.reject(reason)
    })
    const { host, port, db } = redis.options
    const call = Call.database('redis', { host, port, database: db }, command.name.toUpperCase())
    const over = (error?: unknown): void => {
      budget.settle()
      call?.end(error)
    }
    command.promise.then(() => over(), over)
    state.sends(name, parent)
    return send()
  }
}

// The members of ioredis that meltproof uses: it is an optional peer, and several copies may be installed.

interface Command {
  readonly name: string
  readonly args: readonly unknown[]
  readonly promise: Promise<unknown>
  reject(error: unknown): void
}

interface Redis {
  sendCommand: (command: Command, stream?: object, ...rest: unknown[]) => unknown
  readonly status: string
  readonly options: { readonly enableAutoPipelining?: boolean; host?: unknown; port?: unknown; db?: unknown }
  readonly stream?: { destroy(): void }
  disconnect?: (reconnect: boolean) => void
  on?: (event: 'close', listener: () => void) => unknown
  once?: (event: 'close', listener: () => void) => unknown
  removeListener?: (event: 'close', listener: () => void) => unknown
}

function isDuplicable(redis: object): redis is Duplicable {
  return typeof (redis as Partial<Duplicable>).duplicate === 'function'
}

function isRedis(value: object): value is Redis {
  const { sendCommand, status, options } = value as Partial<Redis>
  return typeof sendCommand === 'function' && typeof status === 'string' && typeof options === 'object'
}
