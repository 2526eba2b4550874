/** Checks a plan before anything is sent. Pure. Each RangeError names the option, its range and the value. */
import type { LoadPlan } from './plan.ts'
import { checkRange, LONGEST_MS, validateSchedule } from './schedule.ts'

const MOST_CONNECTIONS = 1_000_000
const MOST_THREADS = 256
const MOST_STREAMS = 10_000
const MOST_RETRIES = 10

const checkWhole = (name: string, value: number, least: number, most: number): void => {
  if (Number.isInteger(value) && value >= least && value <= most) return
  throw new RangeError(`${name} must be a whole number from ${least} to ${most}, got ${String(value)}`)
}

export const checkPlan = (plan: LoadPlan): void => {
  checkRange('timeoutMs', plan.timeoutMs, 1, LONGEST_MS)
  checkRange('connectTimeoutMs', plan.connectTimeoutMs, 1, LONGEST_MS)
  checkRange('sloMs', plan.sloMs, 1, LONGEST_MS)
  checkWhole('threads', plan.threads, 1, MOST_THREADS)
  const { arrival, connections, http2 } = plan
  if (http2 !== undefined) checkWhole('streams', http2.streams, 1, MOST_STREAMS)
  if (arrival.kind === 'open') {
    validateSchedule(arrival.schedule)
    checkWhole('retries', arrival.retries ?? 0, 0, MOST_RETRIES)
    // The number of a request selects its target, and a retry would have another number.
    if (arrival.retries && (plan.journey ?? plan.others))
      throw new RangeError('retries need a plan with a single request')
  } else {
    checkWhole('users', arrival.users, 1, MOST_CONNECTIONS)
    checkRange('durationMs', arrival.durationMs, 1, LONGEST_MS)
    checkRange('thinkMs', arrival.thinkMs, 0, LONGEST_MS)
    if (plan.threads > arrival.users) {
      throw new RangeError(`threads must not exceed users (${arrival.users}), got ${plan.threads}`)
    }
  }
  if (connections.kind === 'keep-alive') {
    checkWhole('connections.max', connections.max, 1, MOST_CONNECTIONS)
    checkWhole('connections.count', connections.count, 0, connections.max)
    if (plan.threads > connections.max) {
      throw new RangeError(`threads must not exceed connections.max (${connections.max}), got ${plan.threads}`)
    }
  }
}
