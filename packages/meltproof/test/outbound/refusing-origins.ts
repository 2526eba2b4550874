/** Origins that refuse calls, and a caller, in virtual time. */
import { Refusals } from '../../src/outbound/refusals.ts'

export class VirtualTime {
  nowMs = 0
  readonly #due: { readonly atMs: number; readonly then: () => void }[] = []

  after(ms: number, then: () => void): void {
    const atMs = this.nowMs + ms
    let place = this.#due.length
    while (place > 0 && this.#due[place - 1]!.atMs <= atMs) place--
    this.#due.splice(place, 0, { atMs, then })
  }

  run(untilMs: number): void {
    for (let next = this.#due.at(-1); next !== undefined && next.atMs <= untilMs; next = this.#due.at(-1)) {
      this.#due.pop()
      this.nowMs = next.atMs
      next.then()
    }
    this.nowMs = untilMs
  }
}

export type Origin = (answer: (served: boolean) => void) => void

/** A processor that serves one call after the other. Refusals go first and delay the others. */
export function processor(time: VirtualTime, workMs: number, most: number, refuseMs: number = workMs / 10): Origin {
  const jobs: { leftMs: number; readonly answer: (served: boolean) => void }[] = []
  let owedMs = 0
  let atMs = 0
  let turn = 0
  const pass = (): void => {
    const spentMs = time.nowMs - atMs
    atMs = time.nowMs
    const refusedMs = Math.min(spentMs, owedMs)
    owedMs -= refusedMs
    if (jobs[0] !== undefined) jobs[0].leftMs -= spentMs - refusedMs
  }
  const next = (): void => {
    const mine = ++turn
    if (jobs.length === 0) return
    time.after(owedMs + Math.max(0, jobs[0]!.leftMs), () => {
      if (mine !== turn) return
      pass()
      const { answer } = jobs.shift()!
      time.after(0.5, () => answer(true))
      next()
    })
  }
  return answer => {
    pass()
    if (jobs.length < most) jobs.push({ leftMs: workMs, answer })
    else {
      owedMs += refuseMs
      time.after(owedMs + 0.5, () => answer(false))
    }
    next()
  }
}

export function byChance(time: VirtualTime, servedShare: number, random: () => number): Origin {
  return answer => {
    const served = random() < servedShare
    time.after(served ? 50 : 2, () => answer(served))
  }
}

/** Calls that wait longer than this are too late, ms. */
const PATIENCE_MS = 300
/** The initial limit of a gate. */
export const LEARNED = 16

export interface Outcome {
  /** Responses within 1 s. */
  good: number
  refusedThere: number
}

/**
 * Sends calls in open loop. `limit` is a fixed maximum in flight, and excess calls fail; undefined behaves like
 * `adaptive`.
 */
export function offer(
  time: VirtualTime,
  origin: Origin,
  perSecond: number,
  random: () => number,
  limit?: number,
  refusals: Refusals = new Refusals(),
): Outcome {
  const outcome = { good: 0, refusedThere: 0 }
  const waiting: number[] = []
  let inFlight = 0
  const most = (): number => limit ?? Math.min(LEARNED, refusals.limit)
  const send = (cameAt: number): void => {
    const startedAt = time.nowMs
    const inFlightThen = ++inFlight
    origin(served => {
      inFlight--
      if (served && time.nowMs - cameAt <= 1000) outcome.good++
      if (!served) outcome.refusedThere++
      if (limit !== undefined) return
      if (served) refusals.served('', time.nowMs)
      else refusals.refused('', time.nowMs)
      refusals.ended('', !served, startedAt, inFlightThen, time.nowMs)
      while (waiting.length > 0 && time.nowMs - waiting[0]! > PATIENCE_MS) waiting.shift()
      while (inFlight < most() && waiting.length > 0) send(waiting.pop()!)
    })
  }
  const come = (): void => {
    time.after((-Math.log(1 - random()) * 1000) / perSecond, come)
    if (limit === undefined && refusals.refuses('', time.nowMs, random())) return
    if (inFlight < most()) send(time.nowMs)
    else if (limit === undefined) waiting.push(time.nowMs)
  }
  come()
  return outcome
}

export function randomFrom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}
