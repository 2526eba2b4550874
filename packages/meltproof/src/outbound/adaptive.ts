/**
 * Learns for each origin how many calls in flight still raise its throughput, with the same gate as a server
 * (process-gate.ts). Calls above that limit wait; those that cannot start in time fail. A dead origin gets only probes
 * (circuit.ts), and an origin that refuses calls gets only as many as it serves (refusals.ts).
 */
import { AsyncResource } from 'node:async_hooks'
import { PROMPT_TUNING } from '../admission/gate.ts'
import type { ShedReason } from '../admission/sheds.ts'
import { now } from '../clock.ts'
import { MeltproofError } from '../errors.ts'
import { GatedWork, WorkGate } from '../work-gate.ts'
import { Circuit } from './circuit.ts'
import { limiterBelow } from './limiter-below.ts'
import { Refusals } from './refusals.ts'

/**
 * Maximum number of origins with a learned limit; each uses some kilobytes. A further one replaces an idle one. If none
 * is idle, calls to the further origin have no learned limit.
 */
const MOST_ORIGINS = 200
/**
 * If the limit is reached and no answer arrives for this time, ms, one more call starts as a probe, because the calls
 * in flight may all hang until they time out. The next probe waits twice as long, because probes may hang as well.
 */
const SILENT_MS = 1000
const LONGEST_SILENCE_MS = 30_000

export class AdaptiveLimits {
  readonly #origins = new Map<string, AdaptiveOrigin>()
  readonly #onFailure: (error: unknown) => void

  constructor(onFailure: (error: unknown) => void) {
    this.#onFailure = onFailure
  }

  of(origin: string): AdaptiveOrigin | undefined {
    const known = this.#origins.get(origin)
    if (known !== undefined) return known
    if (this.#origins.size >= MOST_ORIGINS) {
      const [unused] = [...this.#origins].find(([, { calls }]) => calls === 0) ?? []
      if (unused === undefined) return undefined
      this.#origins.delete(unused)
    }
    const made = new AdaptiveOrigin(origin, this.#onFailure)
    this.#origins.set(origin, made)
    return made
  }

  /** Starts all waiting calls, and stops limiting. */
  open(): void {
    for (const { gate } of this.#origins.values()) gate.processGate.failOpen.open()
  }
}

export class AdaptiveOrigin {
  /** Number of calls that wait or are in flight. */
  calls = 0
  readonly gate: WorkGate<GatedCall>
  readonly #origin: string
  readonly #circuit = new Circuit()
  readonly #refusals = new Refusals()
  #probeAt = 0
  #silentMs = SILENT_MS

  constructor(origin: string, onFailure: (error: unknown) => void) {
    this.#origin = origin
    this.gate = new WorkGate({
      isOurs: false,
      limit: undefined,
      wrapLimiter: learned => limiterBelow(() => this.#refusals.limit, learned),
      tuning: PROMPT_TUNING,
      levels: false,
      onFailure,
    })
  }

  /** Returns an error when the call must not start. */
  ask(call: GatedCall): 'start' | 'wait' | Error {
    if (this.gate.processGate.failOpen.isOpen) return 'start'
    if (this.#circuit.refuses(call.arrivedAt)) return this.#dead()
    if (this.#refusals.refuses(call.route, call.arrivedAt, Math.random())) return this.#refusing(call.route)
    if (this.#probes(call.arrivedAt)) return 'start'
    const decision = this.gate.ask(call)
    return decision === 'start' || decision === 'wait' ? decision : this.shed(decision)
  }

  #probes(nowMs: number): boolean {
    const { inflight, limit } = this.gate.processGate.admission
    if (inflight < limit) this.#noteSignOfLife(nowMs)
    if (nowMs < this.#probeAt) return false
    this.#silentMs = Math.min(2 * this.#silentMs, LONGEST_SILENCE_MS)
    this.#probeAt = nowMs + this.#silentMs
    return true
  }

  #noteSignOfLife(nowMs: number): void {
    this.#silentMs = SILENT_MS
    this.#probeAt = nowMs + SILENT_MS
  }

  /** Counts a call that was served or refused. Must be called before the call ends: that end starts the next call. */
  decided(call: GatedCall, refused: boolean): void {
    const nowMs = now()
    if (refused) this.#refusals.refused(call.route, nowMs)
    else this.#refusals.served(call.route, nowMs)
    // A probe has no permit, so its `startedAt` is not set.
    if (call.startedAt > 0) this.#refusals.ended(call.route, refused, call.startedAt, call.inFlightAtStart, nowMs)
  }

  /** The head of an answer has arrived. */
  alive(call: GatedCall): void {
    this.#circuit.answered()
    this.#noteSignOfLife(now())
    // The probe shows that the origin answers again. Earlier calls may never get an answer, so their permits are freed.
    if (!call.inService) this.gate.giveUpBefore(call.arrivedAt, each => !each.headArrived)
  }

  failed(call: GatedCall): void {
    const nowMs = now()
    // The `startedAt` of a probe is not set.
    this.#circuit.failed(nowMs, nowMs - Math.max(call.startedAt, call.arrivedAt))
    if (this.#circuit.open) this.gate.turnAway(waiting => waiting.tell(this.#dead()))
  }

  shed(reason: ShedReason): Error {
    const { processGate } = this.gate
    processGate.countShed(reason, now())
    return new MeltproofError(
      'MELTPROOF_OUTBOUND_FULL',
      `The call to ${this.#origin} was not started: ${processGate.admission.inflight} calls to it are in flight (its learned limit is ` +
        `near), ${processGate.admission.queued} wait, and this one would have waited too long (${reason}). Calls arrive faster than ` +
        'the origin answers them.',
    )
  }

  #refusing(route: string): Error {
    return new MeltproofError(
      'MELTPROOF_OUTBOUND_FULL',
      `The call to ${this.#origin} was not started: the origin refuses most calls of ${route}, with 503 or 429. meltproof still sends ` +
        'some, and sends all again when the origin serves them.',
    )
  }

  #dead(): Error {
    return new MeltproofError(
      'MELTPROOF_OUTBOUND_DOWN',
      `The call to ${this.#origin} was not started: the last ${this.#circuit.failures} calls to it got no answer. ` +
        'meltproof sends a probe now and then, and all calls again as soon as the origin answers.',
    )
  }
}

/** One call at the gate of its origin. */
export class GatedCall extends GatedWork<GatedCall> {
  readonly answerBy: number
  readonly #origin: AdaptiveOrigin
  readonly #onRefused: (error: Error) => void
  #onStart: (() => void) | undefined
  #state: 'waits' | 'runs' | 'ended' = 'waits'
  readonly refusal: Error | undefined
  headArrived = false
  /** Method and route, such as `GET /users/*`. */
  readonly route: string
  /** Calls in flight, including this one, when it started. */
  inFlightAtStart = 0
  #refused: boolean | undefined

  /** @param withinMs how long the caller waits for the answer; Infinity without a limit */
  constructor(origin: AdaptiveOrigin, route: string, withinMs: number, onRefused: (error: Error) => void) {
    super()
    this.#origin = origin
    this.route = route
    this.#onRefused = onRefused
    this.answerBy = this.arrivedAt + withinMs
    const decision = origin.ask(this)
    if (decision instanceof Error) {
      this.#state = 'ended'
      this.refusal = decision
      return
    }
    origin.calls++
    if (decision === 'start') this.#runs()
  }

  get waits(): boolean {
    return this.#state === 'waits'
  }

  /** Calls `go` when the call may start, unless the call has already ended. */
  onStart(go: () => void): void {
    this.#onStart = AsyncResource.bind(go)
  }

  begin(): void {
    this.#runs()
    this.#onStart?.()
  }

  #runs(): void {
    this.#state = 'runs'
    this.inFlightAtStart = this.#origin.gate.processGate.admission.inflight
  }

  refuse(reason: ShedReason): void {
    this.tell(this.#origin.shed(reason))
  }

  tell(error: Error): void {
    if (this.#leave() === 'waits') this.#onRefused(error)
  }

  /** The head shows that the origin is alive, even if the body fails. */
  headCame(): void {
    if (this.#state !== 'runs') return
    this.headArrived = true
    this.#origin.alive(this)
  }

  /** Notes whether the call was served or refused. Only the first result counts. */
  decided(refused: boolean): void {
    if (this.#refused !== undefined) return
    this.#refused = refused
    this.#origin.decided(this, refused)
  }

  answered(): void {
    if (this.#leave() !== 'runs') return
    this.#origin.alive(this)
    this.#origin.gate.end(this, this.#refused !== true)
  }

  /** The call got no answer. */
  failed(): void {
    const ran = this.#state === 'runs'
    this.cancelled()
    if (ran) this.#origin.failed(this)
  }

  /** The caller has cancelled the call, which says nothing about the origin. */
  cancelled(): void {
    const was = this.#leave()
    if (was === 'waits') this.#origin.gate.leave(this)
    else if (was === 'runs') this.#origin.gate.end(this, false)
  }

  #leave(): 'waits' | 'runs' | 'ended' {
    const was = this.#state
    if (was !== 'ended') this.#origin.calls--
    this.#state = 'ended'
    return was
  }
}
