/**
 * Keeps an error of meltproof from ending the process. Node throws an 'error' event without a listener, also if a
 * listener emits it again on an emitter without one, as `ws` does. Without meltproof there would be no such error, so
 * it only causes a warning.
 */
import type { EventEmitter } from 'node:events'
import { warnOnce } from '../warnings.ts'

const warn = warnOnce()

/** Must be called before `emitter` emits `error`. */
export function keepFromEndingProcess(emitter: EventEmitter, error: Error): void {
  const { emit } = emitter
  const emitOrWarn = function (this: EventEmitter, event: string | symbol, ...args: unknown[]): boolean {
    if (event !== 'error' || args[0] !== error) return emit.call(this, event, ...args)
    try {
      return emit.call(this, event, ...args)
    } catch (thrown) {
      if (thrown !== error) throw thrown
      warn(
        `An outbound call failed, and it has no listener for 'error': ${error.message} The process continues. Add a ` +
          "listener, because any call may fail. Only the first such call is reported. See 'meltproof/outbound'.",
      )
      return false
    }
  }
  Object.defineProperty(emitter, 'emit', { value: emitOrWarn, configurable: true, writable: true })
}
