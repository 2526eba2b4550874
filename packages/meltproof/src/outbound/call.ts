/**
 * One call to somebody else, from its begin to its end. Everything that sees calls reports here: the hooks on undici
 * (undici.ts) and node:http (node-http.ts), and the clients of databases. A call has a record while somebody observes
 * calls, and limits where it is bounded; it knows no client.
 *
 *   begun -> connected -> sent -> answered -> chunks of the body -> ended
 */
import { calls } from '../channels.ts'
import type { OutboundRecord } from '../record.ts'
import type { Bounds, CallLimiter, Carrier } from './bounds.ts'
import { CallRecord } from './call-record.ts'
import type { Fields, Headers } from './headers.ts'

/** What a client's configuration says of its server. It must hold no user name and no password. */
export interface Whereabouts {
  readonly host?: unknown
  readonly port?: unknown
  readonly database?: unknown
}

export class Call {
  readonly #record: CallRecord | undefined
  readonly #limiter: CallLimiter | undefined
  /** Why it must not start. */
  readonly refusal: Error | undefined
  #ended = false

  /** Begins a call; undefined when nobody observes it and nothing bounds it. `carrier` carries what is bounded. */
  static http(origin: string, method: string, bounds: Bounds | undefined, carrier?: Carrier): Call | undefined {
    const limiter = carrier && bounds?.begin(origin, carrier)
    if (limiter === undefined && !calls.hasSubscribers) return undefined
    return new Call('http', origin, method, limiter)
  }

  /** Begins a query or command; undefined while nobody observes calls. */
  static database(kind: OutboundRecord['kind'], where: Whereabouts, operation: string): Call | undefined {
    return calls.hasSubscribers ? new Call(kind, peerOf(where), operation) : undefined
  }

  constructor(kind: OutboundRecord['kind'], peer: string, operation: string, limiter?: CallLimiter | Error) {
    this.#record = calls.hasSubscribers ? new CallRecord(kind, peer, operation) : undefined
    if (limiter instanceof Error) this.refusal = limiter
    else this.#limiter = limiter
  }

  /**
   * It has a connection, and goes out.
   * @param made the connection was made for it; otherwise the call waited for its turn on one
   * @param whole nothing of the request is still to come from the caller
   */
  connected(made: boolean, whole: boolean): void {
    this.#record?.connected(made, whole)
    this.#limiter?.connected()
  }

  /** The last of the request went out. */
  sent(): void {
    this.#record?.sent()
    this.#limiter?.sent()
  }

  /** The head of an HTTP answer is here. */
  answered(status: number | undefined, headers: Headers): void {
    this.#record?.answered(status, headers)
    this.#limiter?.answered(headers)
  }

  /** A part of the body is here. */
  chunk(bytes: number): void {
    this.#limiter?.chunk(bytes)
  }

  /** We asked the other side to wait. */
  paused(): void {
    this.#limiter?.paused()
  }

  get ended(): boolean {
    return this.#ended
  }

  /** It is over for the caller. Any number of times. */
  end(error?: unknown): void {
    if (this.#ended) return
    this.#ended = true
    this.#limiter?.end()
    this.#record?.end(error)
  }

  /** Header fields that tell the other side how long we wait. */
  deadlineFields(): Fields {
    return this.#limiter?.deadlineFields() ?? []
  }
}

function peerOf({ host, port, database }: Whereabouts): string {
  const name = typeof host === 'string' && host !== '' ? host : 'localhost'
  const at = typeof port === 'number' || typeof port === 'string' ? `${name}:${port}` : name
  return typeof database === 'string' || typeof database === 'number' ? `${at}/${database}` : at
}
