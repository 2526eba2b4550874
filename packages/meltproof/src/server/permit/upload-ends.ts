/**
 * What a handler does with a body comes after its last byte, and that needs a permit like any other work. An upload gives
 * its permit back while its client is slow; so the end of its body is kept until there is a permit again. Otherwise everybody
 * who uploads slowly would get past the limit.
 */
import type { ShedReason } from '../../admission/shed-reason.ts'
import { now } from '../../clock.ts'
import { Exchange } from '../request/exchange.ts'
import { deferBodyEnd } from './deferred-body-end.ts'
import { mute } from '../response/muted-response.ts'
import type { Shedding } from '../shed/shedding.ts'

export interface UploadEndHooks {
  /** True when nobody is asked any more. */
  readonly isOpen: () => boolean
  /** Asks the gate, and notes the permit. */
  readonly ask: (exchange: Exchange) => 'start' | 'wait' | ShedReason
  /** It is about to ask: see to it that its end is noticed. */
  readonly watch: (exchange: Exchange) => void
  /** Its client has gone while it waited. */
  readonly abandon: (exchange: Exchange) => void
  readonly fail: (error: unknown) => void
}

export class UploadEnds {
  /** Uploads that are over and wait for a permit. */
  readonly #waiting = new Set<Exchange>()
  readonly #shedding: Shedding
  readonly #hooks: UploadEndHooks

  constructor(shedding: Shedding, hooks: UploadEndHooks) {
    this.#shedding = shedding
    this.#hooks = hooks
  }

  /** The upload gives its permit back: its end is kept until it has one again. */
  keep(upload: Exchange): void {
    const { request, response, connection, keepAlive, url } = upload
    if (response === undefined) return
    deferBodyEnd(request, release => {
      if (this.#hooks.isOpen() || response.headersSent || response.destroyed) return release()
      const exchange = new Exchange(request, connection, keepAlive, now(), url)
      exchange.response = response
      exchange.resume = release
      exchange.budget = upload.budget
      upload.resumedAs = exchange
      this.#ask(exchange)
    })
  }

  /** The gate lets one in that waited. False when it was no upload. */
  start(exchange: Exchange): boolean {
    if (!this.#waiting.delete(exchange)) return false
    exchange.resume!()
    return true
  }

  /** The gate sheds one that waited. False when it was no upload. */
  shed(exchange: Exchange, reason: ShedReason): boolean {
    if (!this.#waiting.delete(exchange)) return false
    try {
      this.#shed(exchange, reason)
    } catch (error) {
      this.#hooks.fail(error)
      exchange.resume!()
    }
    return true
  }

  /** Its response is closed. False when it did not wait. */
  gone(exchange: Exchange): boolean {
    if (!exchange.again || !this.#waiting.delete(exchange)) return false
    this.#hooks.abandon(exchange)
    // Its handler may still wait for the end; without a permit it gets that only when it has answered.
    if (exchange.response!.writableEnded && !exchange.answeredLate) exchange.resume!()
    else exchange.request.destroy()
    return true
  }

  /** Everybody goes on. */
  startAll(): void {
    for (const exchange of this.#waiting) {
      this.#hooks.abandon(exchange)
      exchange.resume!()
    }
    this.#waiting.clear()
  }

  #ask(exchange: Exchange): void {
    let decision: 'start' | 'wait' | ShedReason = 'start'
    try {
      this.#hooks.watch(exchange)
      decision = this.#hooks.ask(exchange)
      if (decision === 'wait') this.#waiting.add(exchange)
      else if (decision !== 'start') this.#shed(exchange, decision)
    } catch (error) {
      this.#hooks.fail(error)
      decision = 'start'
    }
    if (decision === 'start') exchange.resume!()
  }

  /** There is no room for what its handler would do with the body: it is told as if its client had gone. */
  #shed(exchange: Exchange, reason: ShedReason): void {
    const { request } = exchange
    const response = exchange.response!
    if (request.httpVersionMajor < 2) response.shouldKeepAlive = false
    this.#shedding.shed(exchange, reason)
    mute(response)
    response.on('close', () => request.destroy())
  }
}
