/**
 * On SIGTERM and SIGINT (PM2, Ctrl-C) the servers drain first. Then the process ends as it would without meltproof: by
 * the signal, or by the app's own listeners. Listeners are called only after the drain, because many end the process at
 * once. But if the app has listeners, the drain does not wait for WebSockets and long event streams, because the
 * listeners may be what ends these. A second signal skips the wait.
 */
import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import type { Server } from 'node:net'
import { constants } from 'node:os'
import { setImmediate } from 'node:timers'
import { now } from '../clock.ts'
import { leave } from '../cluster/own-folder.ts'
import { OWN_LISTENER } from '../logging/stdout/installed.ts'
import { replaceMethod } from '../replace-method.ts'

const SIGNALS = ['SIGTERM', 'SIGINT'] as const
type Signal = (typeof SIGNALS)[number]

/** Minimum timeout of a drain, ms. Kubernetes allows 30 s between SIGTERM and SIGKILL. */
const LEAST_DRAIN_MS = 25_000

/**
 * Signals within this time count as one, ms: at Ctrl-C the terminal signals both `npm start` and the process, and npm
 * forwards its signal. Pressing again later ends the process at once.
 */
const SAME_MS = 500

/** Time for a worker to exit after its drain, ms. Then the primary ends, and the workers with it. */
const LEAVE_MS = 1000

interface Drainable {
  drain(timeoutMs: number, leavesEndless: boolean): Promise<boolean>
}

/** @param drainDelayMs servers still accept connections for this time, ms; a drain gets twice this, at least 25 s */
export function drainOnSignal(
  guards: () => readonly Drainable[],
  servers: () => readonly Server[],
  drainDelayMs = 0,
): void {
  const withinMs = Math.max(LEAST_DRAIN_MS, 2 * drainDelayMs)
  let begunAt = Number.NaN
  let ended = false
  let drained: readonly Server[] = []
  // With a listener, Node calls process.emit() for the signal and does not end.
  const listener = Object.assign((): void => undefined, { [OWN_LISTENER]: true })
  /** @param rest the arguments that Node gives the listeners after the name: the signal's number */
  const end = (signal: Signal, rest: readonly unknown[]): void => {
    if (ended) return
    ended = true
    undoEmit()
    for (const each of SIGNALS) process.removeListener(each, listener)
    for (const server of drained) if (!server.listening) letCloseAgain(server)
    if (process.listenerCount(signal) > 0) Reflect.apply(process.emit, process, [signal, ...rest])
    else {
      leave()
      process.kill(process.pid, signal)
      // In a container the signal does not end the process with id 1, so exit() does.
      process.exit(128 + constants.signals[signal])
    }
  }
  const undoEmit = replaceMethod(process, 'emit', (original, isOn) => (...args) => {
    const signal = SIGNALS.find(each => each === args[0])
    if (signal === undefined || !isOn()) return original(...args)
    const sinceMs = now() - begunAt
    if (sinceMs < SAME_MS) return true
    const draining: Promise<unknown>[] = []
    if (Number.isNaN(sinceMs)) {
      begunAt = now()
      drained = servers()
      draining.push(...guards().map(guard => guard.drain(withinMs, hasOwnListener(signal))))
      draining.push(...liveWorkers().map(worker => workerEnded(worker, signal, withinMs)))
    }
    const rest = args.slice(1)
    if (draining.length === 0) end(signal, rest)
    // Exceptions of listeners become uncaught ones, as in Node, and not rejections.
    else void Promise.allSettled(draining).then(() => setImmediate(end, signal, rest))
    return true
  })
  for (const signal of SIGNALS) {
    process.on(signal, listener)
    readdListeners(signal)
  }
}

/** True if the app listens to the signal. meltproof's own listeners, here and of meltproof/stdout, do not count. */
function hasOwnListener(signal: Signal): boolean {
  return process.listeners(signal).some(each => !(OWN_LISTENER in each))
}

/**
 * Node gives the callback of `close()` an error if the server is closed already, and libraries that shut servers down
 * then fail. So there is no error after the drain has closed the server, until it listens again.
 */
function letCloseAgain(server: Server): void {
  const undo = replaceMethod(server, 'close', (original, isOn) => callback => {
    if (!isOn() || typeof callback !== 'function') return original(callback)
    return original(() => Reflect.apply(callback, server, []))
  })
  server.once('listening', undo)
}

/** Adds the listeners again: Node binds `process.emit` when the first is added, perhaps before it was replaced. */
function readdListeners(signal: Signal): void {
  const listeners = process.rawListeners(signal) as (() => void)[]
  for (const listener of listeners) process.removeListener(signal, listener)
  for (const listener of listeners) process.on(signal, listener)
}

/** The live workers of a cluster's primary. Kubernetes signals only the primary, and the workers end when it ends. */
function liveWorkers(): readonly Worker[] {
  const workers = cluster.isPrimary ? Object.values(cluster.workers ?? {}) : []
  return workers.filter(worker => worker !== undefined && !worker.isDead()) as Worker[]
}

/** Signals a worker and waits until it has exited. Rejects when that takes too long. */
async function workerEnded(worker: Worker, by: Signal, withinMs: number): Promise<void> {
  const gone = once(worker, 'exit', { signal: AbortSignal.timeout(withinMs + LEAVE_MS) })
  // Makes the worker look stopped by the app itself, so that the app does not replace it.
  worker.exitedAfterDisconnect = true
  worker.process.kill(by)
  await gone
}
