/**
 * protect(): puts the door on a server. The one line of the README.
 */
import { Server as HttpServer } from 'node:http'
import { Server as HttpsServer } from 'node:https'
import { performance } from 'node:perf_hooks'
import { KneeLaw } from '../admission/knee-law.ts'
import { MeltproofError } from '../errors.ts'
import { show } from '../options.ts'
import { Doorkeeper } from './doorkeeper.ts'
import type { Guard } from './guard.ts'
import { openLanes } from './lanes.ts'
import { checkProtectOptions, type ProtectOptions } from './protect-options.ts'
import { RequestDeadlines } from './request-deadlines.ts'
import { ShedAnswers } from './shed-answer.ts'

/** Where a server keeps its guard: on itself, so that two installed copies of meltproof do not both gate it. */
const GUARD = Symbol.for('meltproof.guard')
type Guarded = { [GUARD]?: Guard }

/** True while a guard stands at this server. */
export function isProtected(server: object): boolean {
  return (server as Guarded)[GUARD] !== undefined
}

/**
 * Protects a `node:http` or `node:https` server: it keeps answering at full capacity however much is asked of it.
 * Call it before `listen()`, before or after a framework is attached.
 *
 * On a server that is protected already (by `--import meltproof/register`, say) it returns that guard.
 *
 * @throws MeltproofError for something that is not such a server, for one that listens already, and for options that
 *   are unknown or out of range. After that nothing of meltproof's ever reaches the app: a failure inside opens the
 *   door for good and is reported once.
 */
export function protect(server: HttpServer | HttpsServer, options?: ProtectOptions): Guard {
  if (!isHttpServer(server)) {
    throw new MeltproofError(
      'MELTPROOF_SERVER_INVALID',
      `protect() needs the server that http.createServer() or https.createServer() returned; got ${show(server)}. ` +
        'With a framework, pass its server: http.createServer(app) for Express and Koa, fastify.server for Fastify.',
    )
  }
  const existing = (server as Guarded)[GUARD]
  if (existing !== undefined) {
    if (options === undefined) return existing
    throw new MeltproofError(
      'MELTPROOF_SERVER_PROTECTED',
      'protect() was called twice on this server, with options the second time. Give the options in the first call, ' +
        'or call close() on the first guard before. (meltproof/register protects every server when it starts to listen.)',
    )
  }
  if (server.listening) {
    throw new MeltproofError(
      'MELTPROOF_SERVER_LISTENING',
      'protect() must be called before listen(): connections accepted until now would go round it.',
    )
  }
  const { lanes: laneCount, answer, deadline, onNote } = checkProtectOptions(options === undefined ? {} : options)
  const note = (text: string): void => {
    try {
      onNote(text)
    } catch {
      // What the app does with a note must not come back to it as an exception of ours.
    }
  }
  const law = new KneeLaw(() => performance.eventLoopUtilization().active)
  const door = new Doorkeeper(server, law, new ShedAnswers(answer), {
    onFailure: error => note(`meltproof failed and has stepped aside; the server runs unprotected. ${describe(error)}`),
    ...(deadline === undefined ? {} : { deadlines: new RequestDeadlines(deadline.limitMs, deadline.headers) }),
  })
  const lanes = openLanes(server, { lanes: laneCount, onNote: note })
  const guard: Guard = {
    stats: () => ({
      inflight: door.inflight,
      queued: door.queued,
      limit: law.limit,
      admitted: door.counts.admitted,
      shed: { ...door.counts.shed },
      pressure: door.pressure(),
      lanes: lanes.count,
    }),
    pressure: () => door.pressure(),
    close: () => {
      if ((server as Guarded)[GUARD] === guard) delete (server as Guarded)[GUARD]
      door.open()
      lanes.close()
    },
  }
  Object.defineProperty(server, GUARD, { value: guard, configurable: true })
  return guard
}

function isHttpServer(value: unknown): value is HttpServer | HttpsServer {
  return value instanceof HttpServer || value instanceof HttpsServer
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}
