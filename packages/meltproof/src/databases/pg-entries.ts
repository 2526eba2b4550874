/** Entries of ours in the line of pg's client. It treats them as queries. */
import type { PgConnection, PgQuery } from './pg-shapes.ts'

/** An entry that returns an error from submit() is over; pg hands it back, and sends the next one. */
const OVER = new Error('not sent')

const ignore = (): void => {}
const HANDLERS = {
  handleRowDescription: ignore,
  handleDataRow: ignore,
  handlePortalSuspended: ignore,
  handleCommandComplete: ignore,
  handleEmptyQuery: ignore,
  handleCopyInResponse: ignore,
  handleCopyData: ignore,
  handleReadyForQuery: ignore,
  handleError: ignore,
}

/** In the place of a query that is not sent. `onEnd`: its turn has been, or the connection is gone. */
export function passedOverEntry(onTurn: () => void, onEnd: () => void = ignore): PgQuery {
  return {
    ...HANDLERS,
    handleError: onEnd,
    submit: () => {
      onTurn()
      return OVER
    },
  }
}

export interface GateEvents {
  /** pg would send the next query now. */
  lateOver(): void
  /** The round trip is over, or the connection is. */
  probeOver(): void
}

/** Behind a late query: nothing passes until the recovery is over. */
export class PgGate implements PgQuery {
  readonly #events: GateEvents
  #connection: PgConnection | undefined
  #submitting = false
  #passed = false

  constructor(events: GateEvents) {
    Object.assign(this, HANDLERS)
    this.#events = events
    this.handleReadyForQuery = () => events.probeOver()
    this.handleError = error => {
      if (error !== OVER) events.probeOver()
    }
  }

  declare handleReadyForQuery: NonNullable<PgQuery['handleReadyForQuery']>
  declare handleError: NonNullable<PgQuery['handleError']>

  submit(connection: PgConnection): Error | undefined {
    this.#connection = connection
    this.#submitting = true
    this.#events.lateOver()
    this.#submitting = false
    return this.#passed ? OVER : undefined
  }

  /** Without a cancel there is nothing that could strike; but once pg waits for an answer, there has to be one. */
  probe(needed: boolean): void {
    if (needed || !this.#submitting) this.#connection?.query('')
    else {
      this.#passed = true
      this.#events.probeOver()
    }
  }
}
