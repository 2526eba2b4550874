/** meltproof/ioredis: bound() for clients of ioredis (5 and later). */
import { Budget } from '../deadline/budget.ts'
import { currentBudget, openBudget, unbounded } from '../deadline/context.ts'
import { markBound, unknownClient } from '../outbound/bound-client.ts'
import { Call } from '../outbound/call.ts'
import { loneCancellations } from './cancellations.ts'
import { Graces } from './graces.ts'
import { checkLimits } from './limits.ts'
import { type Command, isRedis, type Redis } from './redis-shapes.ts'
import { RedisState } from './redis-state.ts'
import { unblocking } from './redis-unblock.ts'

/** @experimental */
export interface RedisLimits {
  /**
   * How long a command may take. Milliseconds. A budget with less time left applies instead. Commands that wait on
   * purpose (BLPOP, XREAD with BLOCK, WAIT) are limited only by the budget; nothing limits one sent to a Cluster.
   * @default 10_000
   */
  readonly commandMs?: number | false
}

/**
 * Limits a client of ioredis, in place, and returns it. Every command, also in pipelines and transactions and while the
 * client is not connected, gets a deadline: `commandMs`, or the rest of its budget if that is shorter. When the
 * deadline passes, the promise of the command rejects with a DeadlineExceededError, and a late answer is ignored. A
 * command that was sent may still be executed.
 *
 * @throws MeltproofError `MELTPROOF_CLIENT_INVALID`, `MELTPROOF_OPTION_UNKNOWN` or `MELTPROOF_OPTION_INVALID`.
 * @experimental
 */
export function bound<T extends object>(client: T, limits: RedisLimits = {}): T {
  const { commandMs } = checkLimits(limits, ['commandMs'])
  if (!isRedis(client)) throw unknownClient('ioredis', 'a client of the package ioredis (5 or later)', client)
  if (markBound(client)) patch(client, commandMs)
  return client
}

/** Commands that ioredis sends itself, one by one, on a new connection; failing one would break the connection. */
const HANDSHAKE: ReadonlySet<string> = new Set(['auth', 'hello', 'info', 'select', 'client', 'readonly'])
/** After the answer to one of these commands, the connection only receives messages. */
const LISTENING: ReadonlySet<string> = new Set(['subscribe', 'psubscribe', 'ssubscribe', 'monitor'])
const BLOCKING = new Set(
  'blpop brpop brpoplpush blmove blmovem blmpop bzpopmin bzpopmax bzmpop wait waitaof'.split(' '),
)
const MAY_BLOCK = new Set(['xread', 'xreadgroup'])

/** True for a command that waits on purpose, or that makes the connection a subscriber: only a budget limits it. */
function waitsOnPurpose(name: string, args: readonly unknown[]): boolean {
  if (BLOCKING.has(name) || LISTENING.has(name)) return true
  return MAY_BLOCK.has(name) && args.some(arg => typeof arg === 'string' && arg.toLowerCase() === 'block')
}

function patch(redis: Redis, commandMs: number): void {
  const original = redis.sendCommand
  /** Commands that have passed here. For a wait that can be ended: the answer to CLIENT ID, replaced at each resend. */
  const seen = new WeakMap<Command, Promise<unknown> | undefined>()
  /** Commands that are not sent any more, because their callers got an error. */
  const givenUp = new WeakSet<Command>()
  /**
   * The decision on the first command of each pipeline. A pipeline is sent as a whole or not at all: if a command were
   * missing, answers would go to the wrong commands.
   */
  const pipelines = new WeakMap<object, Budget | Error>()
  /** A cluster does not show to which node it has sent a command, so a wait cannot be ended. */
  const isCluster = 'nodes' in redis
  const graces = new Graces()
  const close = (): void => {
    // In other states there is nothing to close.
    if (redis.status === 'ready') redis.disconnect?.(true)
  }
  const state = new RedisState(close)
  redis.on?.('close', () => state.gone())
  // On a new connection ioredis subscribes and selects its database again, in the context of the call that connected.
  // The budget of that call may have ended, and must not refuse these commands.
  const { connect } = redis
  if (typeof connect === 'function') redis.connect = (...args) => unbounded(() => connect.apply(redis, args))

  /** `first` is the budget of the first command of the pipeline, if that is sent. */
  const open = (name: string, waits: boolean, parent: Budget | undefined, first?: Budget): Budget | Error => {
    const given = { phase: 'command', what: `the Redis command ${name.toUpperCase()}` } as const
    const budget = openBudget(waits ? Number.POSITIVE_INFINITY : commandMs, { ...given, parent })
    // A command that waits on purpose is not cleanup, so it gets no grace period.
    const opened = budget instanceof Budget || waits ? budget : graces.open(parent, given, budget)
    if (opened instanceof Budget || first === undefined) return opened
    // The command must be sent with its pipeline, so it gets as much time as the first one.
    return new Budget(first.limitMs, given)
  }

  /** Ends a wait. Redis must give no data to a caller that has left; data that it has already sent is delivered. */
  const endWait = (command: Command, id: Promise<unknown> | undefined, reason: Error): void => {
    const closed = (): void => command.reject(reason)
    const over = (): void => void redis.removeListener?.('close', closed)
    redis.once?.('close', closed)
    command.promise.then(over, over)
    if (id !== undefined) {
      loneCancellations.run(unblocking(redis, command, id, reason), outcome => {
        if (outcome !== 'processed') close()
      })
      return
    }
    close()
    // Otherwise the answer would make the client a subscriber, although its caller has given up.
    if (LISTENING.has(command.name.toLowerCase())) redis.stream?.destroy()
  }

  /** Requests the id of this connection, with which another connection can unblock the command that follows. */
  const askId = (command: Command): void => {
    seen.set(command, undefined)
    // Inside a MULTI no command waits, and the request for the id would become part of the transaction.
    if (state.isIn('multi')) return
    const question = new (command.constructor as new (name: string, args: string[]) => Command)('client', ['ID'])
    seen.set(question, undefined).set(command, question.promise)
    original.call(redis, question)
    question.promise.catch(() => {})
  }

  redis.sendCommand = (command, stream, ...rest) => {
    const send = (): unknown => original.call(redis, command, stream, ...rest)
    const name = command.name.toLowerCase()
    // ioredis passes a waiting command here again when the connection becomes ready.
    if (givenUp.has(command) && stream === undefined) return command.promise
    const isHandshake = redis.status === 'connect' && stream === undefined && HANDSHAKE.has(name)
    if (seen.get(command) !== undefined) askId(command)
    if (seen.has(command) || isHandshake) return send()
    seen.set(command, undefined)
    const waits = waitsOnPurpose(name, command.args)
    // QUIT is sent even if its caller got an error; otherwise the client would stay connected, or reconnect.
    const isKept = name === 'quit' && stream === undefined
    // Auto-pipelining sends all commands in the context of the first one, whose budget does not apply to the others.
    const parent = redis.options.enableAutoPipelining === true ? undefined : currentBudget()
    const decided = stream && pipelines.get(stream)
    const budget =
      decided instanceof Budget
        ? open(name, waits, parent, decided)
        : (decided ?? state.refusal(name, stream !== undefined) ?? open(name, waits, parent))
    if (stream !== undefined && decided === undefined) pipelines.set(stream, budget)
    if (!(budget instanceof Budget)) {
      state.late(name, budget)
      command.reject(budget)
      // With command tracing, send() returns another promise, which rejects as well.
      if (isKept) Promise.resolve(send()).catch(() => {})
      return command.promise
    }
    const waitsForData = waits && !LISTENING.has(name)
    if (waitsForData && !isCluster && stream === undefined && parent !== undefined) askId(command)
    const giveUp = (reason: Error): void => {
      // A command that was sent to a cluster keeps waiting: if meltproof gave it up, the next job would be lost.
      if (waitsForData && isCluster && redis.status === 'ready') return
      if (!isKept) givenUp.add(command)
      if (waits && redis.status === 'ready' && !isCluster) endWait(command, seen.get(command), reason)
      else {
        state.late(name, reason)
        command.reject(reason)
      }
    }
    budget.onEnd(giveUp)
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
