/**
 * Redis' way to end a command that waits: `CLIENT UNBLOCK` from a connection of its own. To close the connection would not
 * do: when Redis gives it a job and reads its end in one turn, the job is dropped with the answer.
 */
import { startFairTimer } from '../deadline/fair-timer.ts'
import type { Cancellation } from './cancellations.ts'

/** What is used of a client of ioredis to make another like it. */
export interface Duplicable {
  duplicate(options: object): {
    on(event: 'error' | 'connect', listener: () => void): unknown
    readonly stream?: { unref?(): void }
    call(...args: readonly string[]): Promise<unknown>
    disconnect(): void
  }
}

export interface Waiting {
  readonly promise: Promise<unknown>
  reject(error: unknown): void
}

/** The command may not have reached the server yet, or may have its answer: it is asked again after this, ms. */
const AGAIN_MS = 20

/** One that Redis has answered by then has its answer; else it rejects with `reason`. `id` is what CLIENT ID said. */
export function unblocking(redis: Duplicable, command: Waiting, id: Promise<unknown>, reason: Error): Cancellation {
  return done => {
    const { reject } = command
    command.reject = error => {
      const { message = '' } = (error ?? {}) as Partial<Error>
      reject.call(command, message.startsWith('UNBLOCKED ') ? reason : error)
    }
    const other = redis.duplicate({ retryStrategy: () => null, maxRetriesPerRequest: 0, enableReadyCheck: false })
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
        await new Promise<void>(resolve => startFairTimer(AGAIN_MS, () => resolve()))
      }
    }
    // Once it has struck, the answer of the command ends it.
    strike().catch(() => end('unknown'))
    return () => end('unknown')
  }
}
