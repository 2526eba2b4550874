/**
 * Computes when requests are due, from the schedule and its seed. Pure: it knows no clock and no thread.
 *
 * Let R(t) be the number of arrivals expected until t. Each arrival is due when R reaches a certain value, so the
 * inverse of R gives its time:
 *
 *   even:     arrival k is due at R^-1(k + 1/2)      k = 0, 1, ... while k + 1/2 <= R(end)
 *   poisson:  arrival k is due at R^-1(E0 + ... + Ek), every Ei drawn from the exponential distribution of mean 1
 *
 * Within a phase before which R0 arrivals are expected, s = R - R0:
 *
 *   constant rate r:           s = r t                      t = s / r
 *   ramp from a to b over T:   s = a t + (b - a) t^2 / 2T   t = 2 s / (a + sqrt(a^2 + 2 (b - a) s / T))
 *
 * This form of the root is also exact for b close to a, and for a = 0. The 1/2 makes the count R(end), rounded.
 * Arrival k belongs to worker k mod n.
 */
import type { LoadPlan, Phase, Schedule } from './plan.ts'
import { seededRandom } from './random.ts'

/** A phase, whose rate is linear. */
interface Piece {
  readonly startMs: number
  readonly lengthMs: number
  /** Arrivals per millisecond at the start and the end of the piece. */
  readonly from: number
  readonly to: number
  /** Arrivals expected before the piece, and within it. */
  readonly before: number
  readonly inside: number
}

const piecesOf = (phases: readonly Phase[]): readonly Piece[] => {
  const pieces: Piece[] = []
  let startMs = 0
  let before = 0
  const add = (fromRate: number, toRate: number, lengthMs: number): void => {
    const inside = (((fromRate + toRate) / 2) * lengthMs) / 1000
    pieces.push({ startMs, lengthMs, from: fromRate / 1000, to: toRate / 1000, before, inside })
    startMs += lengthMs
    before += inside
  }
  for (const phase of phases) add(...ratesOf(phase), phase.durationMs)
  return pieces
}

/** Time within the piece at which `s` of its arrivals are expected. */
const invert = (piece: Piece, s: number): number => {
  if (s <= 0) return 0
  const { from, to, lengthMs } = piece
  const t =
    from === to ? s / from : (2 * s) / (from + Math.sqrt(Math.max(0, from * from + (2 * (to - from) * s) / lengthMs)))
  return Math.min(lengthMs, Math.max(0, t))
}

export const durationMs = (schedule: Schedule): number =>
  schedule.phases.reduce((sum, phase) => sum + phase.durationMs, 0)

export const highestRate = (schedule: Schedule): number => Math.max(...schedule.phases.flatMap(ratesOf))

export const ratesOf = (phase: Phase): readonly [from: number, to: number] =>
  phase.kind === 'constant' ? [phase.rate, phase.rate] : [phase.fromRate, phase.toRate]

export const planMs = ({ arrival }: Pick<LoadPlan, 'arrival'>): number =>
  arrival.kind === 'open' ? durationMs(arrival.schedule) : arrival.durationMs

/** Divisor for rates: the seconds in which requests were due; with journeys, the whole run. */
export const loadSeconds = (
  plan: Pick<LoadPlan, 'arrival' | 'journey'>,
  { elapsedMs }: { readonly elapsedMs: number },
): number => Math.max(1, plan.journey === undefined ? Math.min(planMs(plan), elapsedMs) : elapsedMs) / 1000

export const expectedArrivals = (schedule: Schedule): number =>
  piecesOf(schedule.phases).reduce((sum, piece) => sum + piece.inside, 0)

/** Due times of one worker, one at a time, in constant memory. */
export interface Arrivals {
  /** Due time of the next arrival, ms from the start; Infinity at the end. Does not advance. */
  peek(): number
  advance(): void
}

export const arrivalsOf = (schedule: Schedule, worker = 0, workers = 1): Arrivals => {
  const pieces = piecesOf(schedule.phases)
  const last = pieces.at(-1)!
  const end = last.before + last.inside
  const random = seededRandom(schedule.seed)
  const poisson = schedule.spacing === 'poisson'
  // Summing the pieces may lose one part in a billion.
  const beyond = poisson ? end : end * (1 + 1e-9)
  let index = -1
  let position = 0
  let at = 0
  let due = 0

  const advance = (): void => {
    do {
      index++
      position = poisson ? position - Math.log(1 - random()) : index + 0.5
      if (position >= beyond) {
        due = Number.POSITIVE_INFINITY
        return
      }
    } while (index % workers !== worker)
    while (at < pieces.length - 1 && position > pieces[at]!.before + pieces[at]!.inside) at++
    const piece = pieces[at]!
    due = piece.startMs + invert(piece, position - piece.before)
  }
  advance()
  return { peek: () => due, advance }
}
