/** Checks a plan before anything is sent. Pure. Every fault is a RangeError that names the option, its range and the value. */
import type { LoadPlan } from './plan.ts'
import { LONGEST_MS, validateSchedule } from './schedule.ts'

const MOST_CONNECTIONS = 1_000_000
const MOST_THREADS = 256

const within = (name: string, value: number, least: number, most: number, whole: boolean): void => {
  const right = typeof value === 'number' && value >= least && value <= most && (!whole || Number.isInteger(value))
  if (right) return
  throw new RangeError(
    `${name} must be ${whole ? 'a whole number ' : ''}from ${least} to ${most}, got ${String(value)}`,
  )
}

export const checkPlan = (plan: LoadPlan): void => {
  within('timeoutMs', plan.timeoutMs, 1, LONGEST_MS, false)
  within('connectTimeoutMs', plan.connectTimeoutMs, 1, LONGEST_MS, false)
  within('sloMs', plan.sloMs, 1, LONGEST_MS, false)
  within('threads', plan.threads, 1, MOST_THREADS, true)
  if (plan.numbered !== undefined) within('numbered.senders', plan.numbered.senders, 1, 999_999_999, true)
  const { arrival, connections } = plan
  if (arrival.kind === 'open') {
    validateSchedule(arrival.schedule)
  } else {
    within('users', arrival.users, 1, MOST_CONNECTIONS, true)
    within('durationMs', arrival.durationMs, 1, LONGEST_MS, false)
    within('thinkMs', arrival.thinkMs, 0, LONGEST_MS, false)
    if (plan.threads > arrival.users) {
      throw new RangeError(`threads must not exceed users (${arrival.users}), got ${plan.threads}`)
    }
  }
  if (connections.kind === 'keep-alive') {
    within('connections.max', connections.max, 1, MOST_CONNECTIONS, true)
    within('connections.count', connections.count, 0, connections.max, true)
    if (plan.threads > connections.max) {
      throw new RangeError(`threads must not exceed connections.max (${connections.max}), got ${plan.threads}`)
    }
  }
}
