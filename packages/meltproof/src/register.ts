/**
 * `node --import meltproof/register app.js`: every HTTP server of the process is protected when it starts to listen,
 * however its module got hold of `node:http`; every call the process makes is bounded, and what it logs waits for no
 * reader. Side effects only.
 */
import { Server as HttpServer } from 'node:http'
import { Server as HttpsServer } from 'node:https'
import { isMeltproofError } from './errors.ts'
import { guardOf } from './guard-of.ts'
import { install } from './logging/stdout.ts'
import { type ReportedGuard, reportTo } from './observe/reporter.ts'
import { boundOutbound } from './outbound/zero-code.ts'
import { optionsFromEnvironment, outboundFromEnvironment, stdoutFromEnvironment } from './register-options.ts'
import type { Guard } from './server/guard.ts'
import { protect } from './server/protect.ts'

/** Node's own exit code for a bad option (process.exit codes, "9 Invalid Argument"). */
const INVALID_ARGUMENT = 9

const options = readOptions(optionsFromEnvironment)
const stdoutOptions = readOptions(stdoutFromEnvironment)
const watched = process.env['MELTPROOF_WATCH']
if (watched) attempt('could not report to meltlab watch; the app runs as it would', () => report(watched))
if (options !== undefined) {
  if (stdoutOptions !== undefined) {
    attempt('could not take over stdout and stderr; they are as Node has them', () => install(stdoutOptions))
  }
  beforeListening(server => {
    // On a server that listens already, listen() throws Node's own error.
    if (server.listening || guardOf(server) !== undefined) return
    attempt('could not protect a server; it runs unprotected', () => protect(server, options))
  })
  if (outboundFromEnvironment(process.env)) boundOutbound(warn)
}

/** `listen` is inherited from net.Server; an own property on these two prototypes leaves every other server alone. */
function beforeListening(act: (server: HttpServer) => void): void {
  for (const { prototype } of [HttpServer, HttpsServer]) {
    const listen = prototype.listen as (...args: unknown[]) => unknown
    const actThenListen = function (this: HttpServer, ...args: unknown[]): unknown {
      act(this)
      return listen.apply(this, args)
    }
    Object.defineProperty(prototype, 'listen', { value: actThenListen, configurable: true, writable: true })
  }
}

/** A variable that is wrong ends the process before the app starts: a typo must not run a service unprotected. */
function readOptions<T>(read: (environment: NodeJS.ProcessEnv) => T): T {
  try {
    return read(process.env)
  } catch (error) {
    if (!isMeltproofError(error)) throw error
    process.stderr.write(`meltproof/register: ${error.message}\n`)
    process.exit(INVALID_ARGUMENT)
  }
}

function report(socketPath: string): void {
  const servers = new Set<WeakRef<HttpServer>>()
  const guards = (): ReportedGuard[] =>
    [...servers].flatMap(ref => {
      const server = ref.deref()
      if (server === undefined) servers.delete(ref)
      const guard = server === undefined || !server.listening ? undefined : guardOf<Guard>(server)
      return guard === undefined ? [] : [guard.stats()]
    })
  beforeListening(server => servers.add(new WeakRef(server)))
  reportTo(socketPath, guards)
}

function attempt(failure: string, act: () => unknown): void {
  try {
    act()
  } catch (error) {
    warn(`${failure}. ${String(error)}`)
  }
}

function warn(text: string): void {
  process.emitWarning(`meltproof/register ${text}`, { type: 'MeltproofWarning' })
}
