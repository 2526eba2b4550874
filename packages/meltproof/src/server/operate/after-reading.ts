/**
 * When a draining server may close a socket: after a turn of the event loop in which nothing came, for then all that had
 * reached the kernel has been read. A socket destroyed with unread bytes loses a request; a listening one resets the
 * connections that wait in it.
 */
import { now } from '../../clock.ts'
import { cpuMs } from '../../signals/loop-worked.ts'

/** A turn of an event loop that had next to nothing to do takes less, ms. It takes 0.02 when there is nothing to do. */
const EMPTY_TURN_MS = 0.5
/**
 * A server without an empty turn starts nothing until it has worked for so long, ms of CPU: it ends what it has begun. On a
 * machine that has no time for it that takes longer, and more has come meanwhile.
 */
const HOLD_CPU_MS = 500
/** A loop that is blocked but does not work is held for so long, ms. */
const HOLD_MS = 5000

interface Gate {
  /** When something came last, ms. */
  readonly activeAt: number
  hold(): void
  resume(): void
}

/**
 * Runs `closeNext` after such a turn, and again after each further one, until it says that there is no more; then `done`.
 * What comes meanwhile is held, or a busy server would have no such turn. In one that has none even then it runs all the
 * same.
 */
export function afterReading(gate: Gate, closeNext: () => boolean, done: () => void): void {
  const heldAt = now()
  const cpuThen = cpuMs()
  const close = (): boolean => {
    try {
      return closeNext()
    } catch {
      return false // An app's own close(). The next look of the drain tries again.
    }
  }
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
      gate.resume()
      done()
    })
  }
  gate.hold()
  turn()
}
