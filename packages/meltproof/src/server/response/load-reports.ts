/** Adds load reports (load-report.ts) to answers for peers that the operator trusts, and to no others. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ServerHttp2Stream } from 'node:http2'
import { now } from '../../clock.ts'
import type { LoadFigures } from '../../process-gate.ts'
import type { FromPeer, OfPeer } from '../request/peers.ts'
import { addToHead, beforeHead, withField } from './before-head.ts'
import { isGrpc } from './grpc-answers.ts'
import { BINARY_FIELD, FIELD, type LoadReport, loadReport } from './load-report.ts'
import { SteadyLoad } from './steady-load.ts'
import { isHttp2 } from '../request/is-http2.ts'

/** Minimum time between two reports, ms. */
const EVERY_MS = 100
/** Maximum number of reports on app answers per EVERY_MS. Each costs 3 us (bench/load-report.ts); 1,000/s suffice. */
const MOST_ANSWERS = 100

export class LoadReports {
  readonly #from: FromPeer
  /** Under this key a socket stores whether its peer is trusted. Another instance may trust other peers. */
  readonly #trusted = Symbol('meltproof.trusted')
  readonly #figures: (nowMs: number) => LoadFigures | undefined
  readonly #steady = new SteadyLoad()
  #report: LoadReport | undefined
  #line = ''
  #madeAtMs = Number.NEGATIVE_INFINITY
  #answersSinceMs = Number.NEGATIVE_INFINITY
  #answers = 0

  constructor(from: FromPeer, figures: (nowMs: number) => LoadFigures | undefined) {
    this.#from = from
    this.#figures = figures
  }

  /** Header fields for an answer of meltproof. */
  fields(request: IncomingMessage): Readonly<Record<string, string>> {
    const report = this.#trusts(request) ? this.#now(now()) : undefined
    if (report === undefined) return {}
    return isGrpc(request) ? { [BINARY_FIELD]: report.binary } : { [FIELD]: report.text }
  }

  /** The same as a header line of HTTP/1, for an answer that is written to this peer's socket as a whole. */
  line(peer: OfPeer, nowMs: number): string {
    if (!this.#trusts(peer)) return ''
    this.#now(nowMs)
    return this.#line
  }

  /** Adds a report to the app's answer when it is sent. */
  onto(request: IncomingMessage, response: ServerResponse & { readonly stream?: ServerHttp2Stream }): void {
    const nowMs = now()
    if (nowMs - this.#answersSinceMs >= EVERY_MS) {
      this.#answersSinceMs = nowMs
      this.#answers = 0
    }
    if (this.#answers >= MOST_ANSWERS || !this.#trusts(request)) return
    this.#answers++
    if (isHttp2(request)) {
      if (response.stream !== undefined) this.#ontoStream(response.stream, isGrpc(request))
      return
    }
    beforeHead(response, head => {
      const text = this.#now(now())?.text
      return text === undefined || response.hasHeader(FIELD) ? head : addToHead(response, head, FIELD, text)
    })
  }

  #ontoStream(stream: ServerHttp2Stream, grpc: boolean): void {
    const { respond, sendTrailers } = stream
    const field = grpc ? BINARY_FIELD : FIELD
    const told = <F extends object | undefined>(fields: F): F => {
      try {
        const report = this.#now(now())
        return report === undefined ? fields : withField(fields, field, grpc ? report.binary : report.text)
      } catch {
        return fields // An answer without a report is better than none.
      }
    }
    stream.respond = (fields, options) =>
      // gRPC reads reports where it reads the status: in the trailers, or in a head that ends the stream.
      respond.call(stream, grpc && options?.endStream !== true ? fields : told(fields), options)
    if (grpc) stream.sendTrailers = fields => sendTrailers.call(stream, told(fields))
  }

  #now(nowMs: number): LoadReport | undefined {
    if (nowMs - this.#madeAtMs >= EVERY_MS) {
      this.#madeAtMs = nowMs
      const figures = this.#figures(nowMs)
      this.#report = figures && loadReport(this.#steady.steadied(figures, nowMs))
      this.#line = this.#report === undefined ? '' : `${FIELD}: ${this.#report.text}\r\n`
    }
    return this.#report
  }

  /** Checks an address once per connection. */
  #trusts(peer: OfPeer): boolean {
    try {
      const socket = peer.socket as unknown as Record<symbol, boolean | undefined>
      socket[this.#trusted] ??= this.#from(peer)
      return socket[this.#trusted] === true
    } catch {
      return false // The socket of an HTTP/2 session that has ended throws.
    }
  }
}
