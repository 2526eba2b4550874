/**
 * Tells `meltlab watch` how this process is: a line of JSON four times a second into a unix socket of the lab. Keeps
 * nothing alive, gives up for good when the lab is gone, and never throws into the app.
 */
import net from 'node:net'
import { monitorEventLoopDelay, performance } from 'node:perf_hooks'
import { now } from '../clock.ts'

/** The figures of a guard that are shown. */
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
    // What the timer itself asked for is no delay.
    const beyondMs = (nanoseconds: number): number =>
      delay.count === 0 ? 0 : Math.max(0, nanoseconds / 1e6 - RESOLUTION_MS)
    const loopDelay = { p99Ms: beyondMs(delay.percentile(99)), maxMs: beyondMs(delay.max) }
    delay.reset()
    socket.write(`${JSON.stringify({ ...reading(guards()), utilization, loopDelay })}\n`)
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
  const sum = (read: (guard: ReportedGuard) => number): number => guards.reduce((all, guard) => all + read(guard), 0)
  const { heapUsed, heapTotal } = process.memoryUsage()
  return {
    pid: process.pid,
    atMs: now(),
    heapUsed,
    heapTotal,
    guards: guards.length,
    inflight: sum(({ inflight }) => inflight),
    queued: sum(({ queued }) => queued),
    limit: sum(({ limit }) => limit),
    admitted: sum(({ admitted }) => admitted),
    shed: sum(({ shed }) => Object.values(shed).reduce((all, count) => all + count, 0)),
  }
}
