/**
 * Tells `meltlab watch` how this process feels: one line of JSON four times a second into a unix socket that the lab
 * listens on. No inspector, nothing in the process's own output. Keeps nothing alive, gives up for good when the lab is
 * gone, and never throws into the app.
 */
import net from 'node:net'
import { monitorEventLoopDelay, performance } from 'node:perf_hooks'
import { now } from '../clock.ts'

/** What a guard tells of itself, as far as it is shown. */
export interface ReportedGuard {
  readonly inflight: number
  readonly queued: number
  readonly limit: number
  readonly admitted: number
  readonly shed: Readonly<Record<string, number>>
}

const EVERY_MS = 250
/** Loop delay is measured this finely, ms: Node's default. */
const RESOLUTION_MS = 10
/** A lab that reads no more gets no more. */
const MOST_UNREAD_BYTES = 65_536

export function reportTo(socketPath: string, guards: () => readonly ReportedGuard[]): void {
  const socket = net.connect(socketPath)
  socket.unref()
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  delay.enable()
  let before = performance.eventLoopUtilization()
  const timer = setInterval(() => {
    if (socket.writableLength > MOST_UNREAD_BYTES) return
    const current = performance.eventLoopUtilization()
    const { utilization } = performance.eventLoopUtilization(current, before)
    before = current
    const line = JSON.stringify({ ...reading(guards()), utilization, loopDelay: delayOf(delay) })
    delay.reset()
    socket.write(`${line}\n`)
  }, EVERY_MS).unref()
  const stop = (): void => {
    clearInterval(timer)
    delay.disable()
    socket.destroy()
  }
  socket.on('error', stop)
  socket.on('close', stop)
  // Nothing is expected; without a reader a close by the lab would go unseen.
  socket.resume()
}

function reading(guards: readonly ReportedGuard[]): object {
  const sum = (read: (guard: ReportedGuard) => number): number =>
    guards.reduce((total, guard) => total + read(guard), 0)
  const { heapUsed, heapTotal } = process.memoryUsage()
  return {
    pid: process.pid,
    atMs: now(),
    heapUsed,
    heapTotal,
    guards: guards.length,
    inflight: sum(guard => guard.inflight),
    queued: sum(guard => guard.queued),
    limit: sum(guard => guard.limit),
    admitted: sum(guard => guard.admitted),
    shed: sum(guard => Object.values(guard.shed).reduce((total, count) => total + count, 0)),
  }
}

/** Milliseconds beyond what the timer asked for. */
function delayOf(delay: ReturnType<typeof monitorEventLoopDelay>): { p99Ms: number; maxMs: number } {
  if (delay.count === 0) return { p99Ms: 0, maxMs: 0 }
  const beyond = (nanoseconds: number): number => Math.max(0, nanoseconds / 1e6 - RESOLUTION_MS)
  return { p99Ms: beyond(delay.percentile(99)), maxMs: beyond(delay.max) }
}
