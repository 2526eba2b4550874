/** The requests that wait at the gate: in the line of their connection (connection/lines.ts), or apart without one. */
import type { Decision } from '../../admission/gate.ts'
import type { ShedReason } from '../../admission/shed-reason.ts'
import { now } from '../../clock.ts'
import type { Connection } from '../connection/connection.ts'
import type { Lines } from '../connection/lines.ts'
import type { Exchange } from '../request/exchange.ts'
import type { Shedding } from '../shed/shedding.ts'
import { startShadow } from './dry-run.ts'
import type { ServerGate } from './server-gate.ts'
import { shedUploadEnd } from './upload-ends.ts'

export interface WaitingParts {
  readonly gate: ServerGate
  readonly lines: Lines<Exchange>
  readonly shedding: Shedding
  readonly connectionOf: (exchange: Exchange) => Connection<Exchange> | undefined
  readonly handOn: (connection: Connection<Exchange>, exchange: Exchange) => void
}

export class Waiting {
  readonly #others = new Set<Exchange>()
  readonly #parts: WaitingParts

  constructor(parts: WaitingParts) {
    this.#parts = parts
  }

  /** Sees to a request that has no place in a line. True when it starts now. */
  settle(exchange: Exchange, decision: Decision): boolean {
    if (decision === 'wait') this.#others.add(exchange)
    else if (decision !== 'start') this.shedNow(exchange, decision)
    return decision === 'start'
  }

  start(exchange: Exchange): void {
    const { connectionOf, gate, shedding } = this.#parts
    if (exchange.shadow !== undefined) startShadow(exchange, gate)
    else if (connectionOf(exchange)?.socket.destroyed) {
      if (!exchange.again) {
        this.#leave(exchange)
        shedding.clientLeft(exchange)
      }
      gate.drop(exchange)
    } else if (!exchange.again && gate.memoryRefuses(exchange)) {
      gate.drop(exchange)
      this.shed(exchange, 'memory')
    } else {
      gate.permit(exchange, now())
      this.#leave(exchange)
      this.startNow(exchange)
    }
  }

  shed(exchange: Exchange, reason: ShedReason): void {
    const { gate, shedding } = this.#parts
    if (exchange.shadow !== undefined) {
      shedding.count(reason, now())
      return
    }
    this.#leave(exchange)
    try {
      this.shedNow(exchange, reason)
    } catch (error) {
      gate.failOpen.fail(error)
      this.startNow(exchange)
    }
  }

  /** Runs the handler of a request that waited. What the app throws surfaces as uncaught, as it does without us. */
  startNow(exchange: Exchange): void {
    try {
      if (exchange.resume !== undefined) exchange.resume()
      else this.#parts.handOn(exchange.connection!, exchange)
    } catch (error) {
      process.nextTick(() => {
        throw error
      })
    }
  }

  shedNow(exchange: Exchange, reason: ShedReason): void {
    const { gate, shedding } = this.#parts
    // The handler of an upload may have begun its answer meanwhile: then nobody else can give one.
    if (exchange.again && exchange.response!.headersSent) this.startNow(exchange)
    else if (exchange.again) shedUploadEnd(exchange, reason, shedding)
    // What Node refuses itself is counted as where there is room.
    else if (!shedding.shed(exchange, reason)) gate.admitted++
  }

  /** The response of a request is closed. False when it did not wait, or waits in a line. */
  gone(exchange: Exchange): boolean {
    if (exchange.resume === undefined || !this.#others.delete(exchange)) return false
    this.#parts.gate.abandon(exchange)
    if (!exchange.again) {
      this.#parts.shedding.clientLeft(exchange)
      return true
    }
    // The handler may still wait for the end of its body; without a permit it gets that only when it has answered.
    if (exchange.response!.writableEnded && !exchange.answeredLate) this.startNow(exchange)
    else exchange.request.destroy()
    return true
  }

  clientLeft(connection: Connection<Exchange>): void {
    for (const exchange of this.takeLine(connection)) this.#parts.shedding.clientLeft(exchange)
  }

  takeLine(connection: Connection<Exchange>): Exchange[] {
    const { gate, lines } = this.#parts
    const { waiting } = connection
    const line = lines.takeAll(connection)
    if (waiting !== undefined) gate.abandon(waiting)
    return line
  }

  /** Answers every request in the line, in order: an upgrade came behind them, which can not wait. */
  shedLine(connection: Connection<Exchange>): void {
    const { gate, shedding } = this.#parts
    shedding.answerOwed(connection)
    const line = this.takeLine(connection)
    gate.failOpen.guard(() => {
      for (const exchange of line) {
        if (connection.closing) break
        this.shedNow(exchange, 'upgrade')
        shedding.answerOwed(connection)
      }
      connection.resumeReading('line')
    })
  }

  startAll(): void {
    const { gate, lines } = this.#parts
    for (const connection of [...lines.connections]) {
      for (const exchange of this.takeLine(connection)) this.#startWithoutPermit(exchange)
      connection.resumeReading('line')
    }
    for (const exchange of this.#others) {
      gate.abandon(exchange)
      this.#startWithoutPermit(exchange)
    }
    this.#others.clear()
  }

  #startWithoutPermit(exchange: Exchange): void {
    const { gate } = this.#parts
    exchange.ungated = !gate.failOpen.failed
    if (!exchange.again) gate.admitted++
    this.startNow(exchange)
  }

  #leave(exchange: Exchange): void {
    if (exchange.resume === undefined) this.#parts.lines.move(exchange.connection!)
    else this.#others.delete(exchange)
  }
}
