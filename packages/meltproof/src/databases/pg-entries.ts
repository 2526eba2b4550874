/** Entries of meltproof in the queue of pg's client, which treats them as queries. */
import type { PgConnection, PgQuery } from './pg-shapes.ts'
import type { Recovery } from './recovery.ts'

/** Returned by submit() to end an entry. pg reports the error to the entry, and sends the next one. */
const OVER = new Error('not sent')

const ignore = (): void => {}
/** Methods that pg calls with parts of an answer. */
const IGNORED = {
  handleRowDescription: ignore,
  handleDataRow: ignore,
  handlePortalSuspended: ignore,
  handleCommandComplete: ignore,
  handleEmptyQuery: ignore,
  handleCopyInResponse: ignore,
  handleCopyData: ignore,
}

/** Replaces a query that is not sent. `onEnd` is called after its turn, or when the connection is closed. */
export function passedOverEntry(onTurn: () => void, onEnd: () => void = ignore): PgQuery {
  return {
    ...IGNORED,
    handleReadyForQuery: ignore,
    handleError: onEnd,
    submit: () => {
      onTurn()
      return OVER
    },
  }
}

/** Waits in pg's queue behind an overdue query, and blocks the queue until the connection can be used again. */
export class PgGate implements PgQuery {
  readonly #recovery: Recovery
  #connection: PgConnection | undefined
  #submitting = false
  #passed = false

  constructor(recovery: Recovery) {
    Object.assign(this, IGNORED)
    this.#recovery = recovery
  }

  handleReadyForQuery(): void {
    this.#recovery.answered()
  }

  /** Called also when the connection is closed. */
  handleError(error: unknown): void {
    if (error !== OVER) this.#recovery.answered()
  }

  submit(connection: PgConnection): Error | undefined {
    this.#connection = connection
    this.#submitting = true
    this.#recovery.queryEnded()
    this.#submitting = false
    return this.#passed ? OVER : undefined
  }

  /** Without a cancel no probe is needed. But once submit() has returned, pg needs an answer, so a probe is sent. */
  probe(needed: boolean): void {
    if (needed || !this.#submitting) this.#connection?.query('')
    else {
      this.#passed = true
      this.#recovery.answered()
    }
  }
}
