/**
 * Ends a waiting Redis command: sends `CLIENT UNBLOCK` on a separate connection. Closing the connection of the command
 * could lose a job: Redis may assign one to the command before it notices that the connection is closed.
 */
import { startFairTimer } from '../deadline/fair-timer.ts'
import type { Cancellation } from './cancellations.ts'
import type { Command, Redis } from './redis-shapes.ts'

/** Time between attempts, ms: the command may not have reached the server yet, or its answer may be on the way. */
const AGAIN_MS = 20

/** Delivers an answer that Redis has sent already; else the command rejects with `reason`. `id` is from CLIENT ID. */
export function unblocking(redis: Redis, command: Command, id: Promise<unknown>, reason: Error): Cancellation {
  return done => {
    const { reject } = command
    command.reject = error => {
      const { message = '' } = (error ?? {}) as Partial<Error>
      reject.call(command, message.startsWith('UNBLOCKED ') ? reason : error)
    }
    const other = redis.duplicate({ retryStrategy: () => null, enableReadyCheck: false, enableOfflineQueue: true })
    other.on('error', () => {})
    other.on('connect', () => other.stream?.unref?.())
    let ended = false
    const end = (outcome: 'processed' | 'unknown'): void => {
      if (ended) return
      ended = true
      other.disconnect()
      done(outcome)
    }
    const answered = (): void => end('processed')
    command.promise.then(answered, answered)
    const strike = async (): Promise<void> => {
      const client = String(await id)
      while (!ended && Number(await other.call('CLIENT', 'UNBLOCK', client, 'ERROR')) === 0) {
        await new Promise<void>(resolve => startFairTimer(AGAIN_MS, resolve))
      }
    }
    // Once the command is unblocked, its answer ends the cancellation.
    strike().catch(() => end('unknown'))
    return () => end('unknown')
  }
}
