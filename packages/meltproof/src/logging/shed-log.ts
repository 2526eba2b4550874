/**
 * Passes sheds, which the app never sees, to the app's own logging middleware (such as morgan), with a response that
 * sends nothing. Never throws into the service.
 */
import { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { setImmediate } from 'node:timers'
import { type ShedMessage, sheds } from '../channels.ts'
import { checkFunction, checkGuard, invalidOption, showThrown } from '../options.ts'
import { LEFT, type ShedRecord } from '../record.ts'
import { enableRequestTiming } from '../timing/observed.ts'
import { warnOnce } from '../warnings.ts'

/** The signature that Connect and Express use. @experimental */
export type LoggingMiddleware = (request: IncomingMessage, response: ServerResponse, next: () => void) => unknown

/**
 * Has a logging middleware also log the requests that `guard` sheds, and clients that leave the queue. Up to 20 per
 * second are logged one by one. The others are combined by reason, method and length of the wait, with the URL
 * `meltproof:4321-such-requests`. What the middleware does to its response reaches no client. The returned function
 * ends this.
 *
 * ```js
 * const log = morgan('combined')
 * app.use(log)
 * logSheds(protect(server), log)
 * ```
 * @throws MeltproofError with code MELTPROOF_OPTION_INVALID.
 * @experimental
 */
export function logSheds(guard: { pressure(): number }, middleware: LoggingMiddleware): () => void {
  const what = 'logSheds(guard, middleware)'
  checkGuard(what, guard, 'pressure')
  if (checkFunction(`${what}: middleware`, middleware) === undefined) {
    invalidOption(`${what}: middleware`, 'a function such as morgan() returns', middleware)
  }
  const say = warnOnce()
  const failed = (error: unknown): void =>
    say(`meltproof/access-log: the middleware of logSheds() failed; the service goes on. ${showThrown(error)}`)
  const run = (act: () => void): void => {
    try {
      act()
    } catch (error) {
      failed(error)
    }
  }
  const show = ({ record, request }: ShedMessage): void => {
    const written: (() => void)[] = []
    // A Duplex in place of a socket, so that nothing ends before this code ends it.
    const nowhere = new Duplex({ read: () => undefined, write: (_, __, done) => void written.push(done) }) as Socket
    const response = new ServerResponse(request ?? several(record, nowhere))
    response.assignSocket(nowhere)
    // An 'error' without a listener would end the process.
    for (const stream of [nowhere, response]) stream.on('error', failed)
    const returned = middleware(response.req, response, () => undefined)
    // The middleware may be async.
    Promise.resolve(returned).catch(failed)
    if (record.reason !== LEFT) {
      response.writeHead(503, request === undefined ? {} : { 'content-length': record.bytes })
      response.end()
    }
    // Deferred and guarded: when a stream ends by itself, exceptions of its listeners are uncaught.
    setImmediate(() =>
      run(() => {
        for (const done of written) done()
        nowhere.emit('close')
      }),
    )
  }
  const onShed = (message: ShedMessage): void => {
    if (message.guard === guard) run(() => show(message))
  }
  enableRequestTiming()
  sheds.subscribe(onShed)
  return () => sheds.unsubscribe(onShed)
}

function several({ count, method }: ShedRecord, socket: Socket): IncomingMessage {
  const request = new IncomingMessage(socket)
  request.complete = true
  request.method = method
  request.httpVersion = '1.1'
  request.httpVersionMajor = request.httpVersionMinor = 1
  request.url = `meltproof:${count}-such-requests`
  return request
}
