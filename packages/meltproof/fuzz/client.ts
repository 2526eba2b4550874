/** Has one conversation with a server and, when it is a strict one, checks every answer. */
import net from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import { type Answer, parseAnswer } from '../test/server/raw.ts'
import type { Conversation } from './conversations.ts'
import { isAccepted, listenOverflows } from './listen-overflows.ts'

/** A connection on which nothing happens for so long after the last byte was sent is left; ms. */
const QUIET_MS = 60
/** The headersTimeout of the servers under fuzz; ms. */
export const PATIENCE_MS = 2_000
/** A strict conversation is owed its answers; shed or served, each comes far sooner. ms */
const OWED_MS = 30_000
/**
 * While the queue of a listener is full, Linux drops first segments and sends SYN cookies. A cookie stays valid if the
 * next segment begins up to this many bytes later, because they shift only the index of the segment size, one of four
 * (check_tcp_syn_cookie in net/ipv4/syncookies.c): the server never sees these bytes of the client, and answers 400.
 */
const LOST_TO_COOKIES = 3

export interface Met {
  /** Whole answers by status, of strict conversations. */
  readonly statuses: Readonly<Record<number, number>>
}

export class Broken extends Error {
  override readonly name = 'Broken'
}

/** Throws Broken when a strict conversation was not answered as HTTP/1.1 asks. Whatever else happens is fine. */
export async function converse(port: number, localAddress: string | undefined, talk: Conversation): Promise<Met> {
  const socket = net.connect({
    port,
    host: '127.0.0.1',
    noDelay: true,
    allowHalfOpen: true,
    ...(localAddress === undefined ? {} : { localAddress }),
  })
  const startedMs = performance.now()
  const reader = talk.strict === undefined ? undefined : new StrictReader(talk.strict, startedMs)
  const overflows = listenOverflows()
  let ended = false
  let broke = ''
  let lastMs = startedMs
  const end = (): void => {
    ended = true
  }
  socket
    .on('end', end)
    .on('close', end)
    .on('error', (error: NodeJS.ErrnoException) => {
      broke = error.code ?? error.message
      end()
    })
  if (talk.ending.how !== 'deaf') {
    socket.on('data', chunk => {
      lastMs = performance.now()
      reader?.take(chunk.toString('latin1'))
    })
  }
  try {
    await send(socket, talk, () => ended)
    if (talk.ending.how === 'reset') return { statuses: {} }
    if (talk.ending.how === 'half-close' && !socket.destroyed) socket.end()
    lastMs = performance.now()
    const owedUntil = lastMs + OWED_MS
    while (!ended && reader?.done !== true) {
      await wait(5)
      const nowMs = performance.now()
      if (reader === undefined ? nowMs - lastMs > QUIET_MS : nowMs > owedUntil) break
    }
    const overflowed = listenOverflows() > overflows
    // Node lets go of what it has not answered yet when it sees a FIN (server.httpAllowHalfOpen), and of a connection on
    // which a pipelined head stays half read for longer than headersTimeout (Fastify without a word). What no listener of
    // the machine accepts in time, the kernel resets, or lets wait until it gives up.
    const unaccepted =
      reader?.begun === false &&
      overflowed &&
      (broke === 'ECONNRESET' || (!ended && isAccepted(port, socket.localPort) === false))
    const lostItsStart =
      overflowed && reader?.isRefused === true && (talk.cuts.find(cut => cut > 0) ?? Infinity) <= LOST_TO_COOKIES
    if (lostItsStart) return { statuses: {} }
    const mayLetGo = talk.ending.how === 'half-close' || performance.now() - startedMs >= PATIENCE_MS
    if (unaccepted || (ended && mayLetGo)) reader?.rethrow()
    else
      reader?.finish(
        ended ? `the server closed ${broke} after ${Math.round(performance.now() - startedMs)} ms` : undefined,
      )
    return { statuses: reader?.statuses ?? {} }
  } finally {
    leave(socket)
  }
}

/**
 * By a reset where that is possible: it leaves no TIME_WAIT behind, and a million requests do not run out of ports.
 * Node resets only once everything written has left, which with a server that does not read may be never.
 */
export function leave(socket: net.Socket): void {
  if (socket.connecting || socket.writableLength > 0) socket.destroy()
  else socket.resetAndDestroy()
  // Half-closed sockets may keep their handle.
  if (!socket.destroyed) setTimeout(() => socket.destroy(), 100)
}

async function send(socket: net.Socket, talk: Conversation, ended: () => boolean): Promise<void> {
  const limit = talk.ending.how === 'reset' ? talk.ending.after : talk.bytes.length
  let from = 0
  for (const cut of [...talk.cuts, limit]) {
    const to = Math.min(cut, limit)
    if (ended()) return
    if (to > from) socket.write(talk.bytes.slice(from, to), 'latin1')
    from = Math.max(from, to)
    await turn()
  }
  // A reset discards what was not sent yet; let most of it leave.
  if (talk.ending.how === 'reset') await turn()
}

const wait = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))

/** The n-th answer belongs to the n-th request: served with its id, or shed. */
class StrictReader {
  readonly statuses: Record<number, number> = {}
  done = false
  #rest = ''
  #at = 0
  #broken: unknown
  readonly #methods: readonly string[]
  readonly #startedMs: number

  constructor(methods: readonly string[], startedMs: number) {
    this.#methods = methods
    this.#startedMs = startedMs
  }

  /** The first answer says that the request was malformed. */
  get isRefused(): boolean {
    return this.#at === 0 && this.statuses[400] === 1
  }

  /** Something came. */
  get begun(): boolean {
    return this.#at > 0 || this.#rest !== ''
  }

  take(text: string): void {
    this.#rest += text
    try {
      this.#read(false)
    } catch (error) {
      this.#fail(error)
    }
  }

  /** @param end how the connection ended, if it did */
  finish(end: string | undefined): void {
    if (this.#broken === undefined && !this.done) {
      try {
        this.#read(end !== undefined)
        if (!this.done) throw new Error(end ?? `nothing more came for ${OWED_MS} ms`)
      } catch (error) {
        this.#fail(error)
      }
    }
    this.rethrow()
  }

  /** What was wrong with the answers that came. */
  rethrow(): void {
    if (this.#broken === undefined) return
    const { message } = this.#broken as Error
    throw new Broken(`answer ${this.#at + 1} of ${this.#methods.length}: ${message}; at ${this.#excerpt()}`)
  }

  #fail(error: unknown): void {
    this.#broken ??= error
    this.done = true
  }

  #excerpt(): string {
    return JSON.stringify(this.#rest.slice(0, 300))
  }

  #read(ended: boolean): void {
    while (!this.done) {
      const answer = parseAnswer(this.#rest, this.#methods[this.#at]!, ended)
      if (answer === undefined) return
      this.#rest = this.#rest.slice(answer.raw.length)
      this.#check(answer)
      this.#at++
      this.done = this.#at === this.#methods.length || answer.headers['connection'] === 'close'
    }
    // An answer may come before its request has been sent whole. On a busy machine the rest can take longer than Node waits.
    const isTimeout = this.#rest.startsWith('HTTP/1.1 408 ') && performance.now() - this.#startedMs >= PATIENCE_MS
    if (this.#rest !== '' && !isTimeout) throw new Error('bytes that belong to no request')
  }

  #check({ status, headers, raw }: Answer): void {
    this.statuses[status] = (this.statuses[status] ?? 0) + 1
    if (status === 200) {
      if (headers['x-id'] !== String(this.#at)) throw new Error(`it is the answer to request ${headers['x-id']}`)
    } else if (status === 503) {
      if (!(Number(headers['retry-after']) >= 1)) throw new Error('a shed without Retry-After')
    } else if (status !== 408) {
      // 408 is Node's: a pipelined head that was half read when reading stopped has a time limit too. It closes.
      throw new Error(`the answer is ${JSON.stringify(raw.slice(0, 300))}`)
    }
  }
}
