/** Checks a plan before anything is sent. Pure. Each RangeError names the option, its range and the value. */
import type { LoadPlan, Phase, Schedule } from './plan.ts'
import { durationMs } from './schedule.ts'

/** Arrivals per second. A higher rate is a typing error, far beyond what the generator can send. */
export const HIGHEST_RATE = 1_000_000
/** One day, milliseconds. */
const LONGEST_MS = 86_400_000
const MOST_CONNECTIONS = 1_000_000
const MOST_THREADS = 256
const MOST_STREAMS = 10_000
const MOST_RETRIES = 10

const checkRange = (name: string, value: number, least: number, most: number, unit = ''): void => {
  if (typeof value === 'number' && value >= least && value <= most) return
  throw new RangeError(`${name} must be from ${least} to ${most}${unit && ` ${unit}`}, got ${String(value)}`)
}

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
    checkSchedule(arrival.schedule)
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

const checkSchedule = (schedule: Schedule): void => {
  if (schedule.phases.length === 0) throw new RangeError('schedule.phases must hold at least one phase, got none')
  schedule.phases.forEach((phase, at) => {
    const name = `schedule.phases[${at}]`
    switch (phase.kind) {
      case 'constant':
        checkRange(`${name}.rate`, phase.rate, 0, HIGHEST_RATE, 'arrivals/s')
        break
      case 'ramp':
        checkRange(`${name}.fromRate`, phase.fromRate, 0, HIGHEST_RATE, 'arrivals/s')
        checkRange(`${name}.toRate`, phase.toRate, 0, HIGHEST_RATE, 'arrivals/s')
        break
      default:
        throw new RangeError(`${name}.kind must be constant or ramp, got ${String((phase as Phase).kind)}`)
    }
    checkRange(`${name}.durationMs`, phase.durationMs, 1, LONGEST_MS, 'ms')
  })
  if (schedule.spacing !== 'even' && schedule.spacing !== 'poisson') {
    throw new RangeError(`schedule.spacing must be even or poisson, got ${String(schedule.spacing)}`)
  }
  if (!Number.isSafeInteger(schedule.seed)) {
    throw new RangeError(`schedule.seed must be a whole number, got ${String(schedule.seed)}`)
  }
  const lengthMs = durationMs(schedule)
  if (lengthMs > LONGEST_MS) throw new RangeError(`the schedule must last at most ${LONGEST_MS} ms, got ${lengthMs}`)
}
