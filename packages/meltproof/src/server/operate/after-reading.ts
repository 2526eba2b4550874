/**
 * Finds when a draining server may close a socket: after an event loop turn in which nothing arrived, because then
 * everything in the kernel's buffers has been read. Closing a socket with unread bytes loses a request; closing a
 * listening socket resets the connections in its backlog.
 */
import { setImmediate } from 'node:timers'
import { now } from '../../clock.ts'
import { cpuMs } from '../../signals/loop-figures.ts'
import { quietly } from '../../warnings.ts'
import type { ServerGate } from '../gate/server-gate.ts'

/** A turn counts as empty below this duration, ms. A turn without any work takes 0.02 ms. */
const EMPTY_TURN_MS = 0.5
/**
 * If no turn is empty, sockets are closed anyway after the server has held new requests for this much CPU time, ms.
 * Wall time is unsuitable: on a busy machine, finishing the requests in service takes longer.
 */
const HOLD_CPU_MS = 500
/** Maximum hold for a loop that is blocked without using CPU, ms. */
const HOLD_MS = 5000

export interface HeldGate extends Pick<ServerGate, 'activeAt'> {
  readonly processGate: { readonly admission: { hold(): void; resume(): void } }
}

/**
 * Runs `closeNext` after each empty turn until it returns false, then runs `done`. Until then new requests are held,
 * because a busy server would have no empty turn. After the maximum hold, `closeNext` no longer waits for empty turns.
 */
export function afterReading(gate: HeldGate, closeNext: () => boolean, done: () => void): void {
  const { admission } = gate.processGate
  const heldAt = now()
  const cpuThen = cpuMs()
  // If the app's own close() throws, the drain tries again at its next check.
  const close = (): boolean => quietly(closeNext) ?? false
  const turn = (): void => {
    const beganAt = now()
    const activeBefore = gate.activeAt
    setImmediate(() => {
      const nowMs = now()
      const isEmpty = gate.activeAt === activeBefore && nowMs - beganAt < EMPTY_TURN_MS
      const isTooLate = cpuMs() - cpuThen >= HOLD_CPU_MS || nowMs - heldAt >= HOLD_MS
      let more = !isEmpty || close()
      if (isTooLate) while (more) more = close()
      if (more) return turn()
      admission.resume()
      done()
    })
  }
  admission.hold()
  turn()
}
