/**
 * The requests that wait at the gate, each in its place: in the line of its connection (connection/lines.ts), or among
 * those without one, which are requests that came past our parser and the ends of uploads. Carries out what the gate decides
 * about them.
 */
import type { Decision } from '../../admission/gate.ts'
import type { ShedReason } from '../../admission/shed-reason.ts'
import { now } from '../../clock.ts'
import type { Connection } from '../connection/connection.ts'
import type { Lines } from '../connection/lines.ts'
import type { FailOpen } from '../fail-open.ts'
import type { Exchange } from '../request/exchange.ts'
import type { Shedding } from '../shed/shedding.ts'
import type { DryRun } from './dry-run.ts'
import type { ServerGate } from './server-gate.ts'
import { shedUploadEnd } from './upload-ends.ts'

export class Waiting {
  /** Those without a place in a line. */
  readonly #others = new Set<Exchange>()
  readonly #gate: ServerGate
  readonly #lines: Lines
  readonly #shedding: Shedding
  readonly #dryRun: DryRun
  readonly #failOpen: FailOpen
  readonly #handOn: (connection: Connection, exchange: Exchange) => void

  /** `handOn` hands a request that waited on to Node. */
  constructor(
    gate: ServerGate,
    lines: Lines,
    shedding: Shedding,
    dryRun: DryRun,
    failOpen: FailOpen,
    handOn: (connection: Connection, exchange: Exchange) => void,
  ) {
    this.#gate = gate
    this.#lines = lines
    this.#shedding = shedding
    this.#dryRun = dryRun
    this.#failOpen = failOpen
    this.#handOn = handOn
  }

  /** Sees to a request that has no place in a line, and whose `resume` starts it. True when it starts now. */
  settle(exchange: Exchange, decision: Decision): boolean {
    if (decision === 'wait') this.#others.add(exchange)
    else if (decision !== 'start') this.shedNow(exchange, decision)
    return decision === 'start'
  }

  /** The gate lets one in that waited. */
  start(exchange: Exchange): void {
    if (exchange.shadow !== undefined) {
      this.#dryRun.start(exchange)
      return
    }
    if (exchange.connection?.socket.destroyed) {
      // Its client has gone, and the news is still to come.
      if (!exchange.again) this.#leave(exchange)
      this.#gate.drop(exchange)
      return
    }
    this.#gate.permit(exchange, now())
    this.#leave(exchange)
    this.startNow(exchange)
  }

  /** The gate sheds one that waited. */
  shed(exchange: Exchange, reason: ShedReason): void {
    if (exchange.shadow !== undefined) {
      this.#dryRun.shed(reason)
      return
    }
    this.#leave(exchange)
    try {
      this.shedNow(exchange, reason)
    } catch (error) {
      this.#failOpen.fail(error)
      this.startNow(exchange)
    }
  }

  /** Runs the handler of a request that waited. What the app throws surfaces as uncaught, as it does without us. */
  startNow(exchange: Exchange): void {
    try {
      if (exchange.resume !== undefined) exchange.resume()
      else this.#handOn(exchange.connection!, exchange)
    } catch (error) {
      process.nextTick(() => {
        throw error
      })
    }
  }

  shedNow(exchange: Exchange, reason: ShedReason): void {
    if (exchange.again) shedUploadEnd(exchange, reason, this.#shedding)
    // What Node refuses itself is counted as where there is room.
    else if (!this.#shedding.shed(exchange, reason)) this.#gate.admitted++
  }

  /** The response of one without a place in a line is closed. False when it did not wait. */
  gone(exchange: Exchange): boolean {
    if (exchange.resume === undefined || !this.#others.delete(exchange)) return false
    this.#gate.abandon(exchange)
    if (!exchange.again) return true
    // The handler may still wait for the end of its body; without a permit it gets that only when it has answered.
    if (exchange.response!.writableEnded && !exchange.answeredLate) this.startNow(exchange)
    else exchange.request.destroy()
    return true
  }

  /** Takes every request out of the line of a connection, in order. None of them waits at the gate any more. */
  takeLine(connection: Connection): Exchange[] {
    const { waiting } = connection
    const line = this.#lines.takeAll(connection)
    if (waiting !== undefined) this.#gate.abandon(waiting)
    return line
  }

  /** Answers every request in the line, in order, because an upgrade came behind them that can not wait. */
  shedLine(connection: Connection): void {
    this.#shedding.answerOwed(connection)
    const line = this.takeLine(connection)
    this.#failOpen.guard(() =>
      this.#shedding.atOnce(() => {
        for (const exchange of line) if (!connection.closing) this.shedNow(exchange, 'upgrade')
        connection.resumeReading()
      }),
    )
  }

  /** The gate is not asked any more. */
  startAll(): void {
    for (const connection of [...this.#lines.connections]) {
      for (const exchange of this.takeLine(connection)) this.startNow(exchange)
      connection.resumeReading()
    }
    for (const exchange of this.#others) {
      this.#gate.abandon(exchange)
      this.startNow(exchange)
    }
    this.#others.clear()
  }

  #leave(exchange: Exchange): void {
    if (exchange.resume === undefined) this.#lines.move(exchange.connection!)
    else this.#others.delete(exchange)
  }
}
