/**
 * `node --import meltproof/register app.js`: every HTTP server the process creates is protected when it starts to
 * listen, however its module got hold of `node:http`; every call it makes is bounded, and what it logs waits for no
 * reader. Side effects only.
 */
import { Server as HttpServer } from 'node:http'
import { Server as HttpsServer } from 'node:https'
import { isMeltproofError } from './errors.ts'
import type { StdoutOptions } from './logging/stdout/options.ts'
import { install } from './logging/stdout.ts'
import { type ReportedGuard, reportTo } from './observe/reporter.ts'
import { boundOutbound } from './outbound/zero-code.ts'
import { optionsFromEnvironment, outboundFromEnvironment, stdoutFromEnvironment } from './register-options.ts'
import { guardOf } from './guard-of.ts'
import { isProtected, protect } from './server/protect.ts'
import type { ProtectOptions } from './server/protect-options.ts'

/** Node's own exit code for a bad option (process.exit codes, "9 Invalid Argument"). */
const INVALID_ARGUMENT = 9

const options = readOptions(optionsFromEnvironment)
const watched = process.env['MELTPROOF_WATCH']
if (watched) report(watched)
const stdoutOptions = readOptions(stdoutFromEnvironment)
if (options !== undefined) {
  if (stdoutOptions !== undefined) installStdout(stdoutOptions)
  for (const { prototype } of [HttpServer, HttpsServer]) protectWhenListening(prototype, options)
  if (outboundFromEnvironment(process.env)) boundOutbound(warn)
}

/** `listen` is inherited from net.Server; an own property on these two prototypes leaves every other server alone. */
function protectWhenListening(prototype: HttpServer, options: ProtectOptions): void {
  const listen = prototype.listen as (...args: unknown[]) => unknown
  const protectThenListen = function (this: HttpServer, ...args: unknown[]): unknown {
    // On a server that listens already, listen() throws Node's own error.
    if (!this.listening && !isProtected(this)) {
      try {
        protect(this, options)
      } catch (error) {
        warn(`could not protect a server; it runs unprotected. ${String(error)}`)
      }
    }
    return listen.apply(this, args)
  }
  Object.defineProperty(prototype, 'listen', { value: protectThenListen, configurable: true, writable: true })
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

/** Before servers are protected, so that a listen() of ours is the outer one and sees the guard the app or we put on. */
function report(socketPath: string): void {
  const servers = new Set<WeakRef<HttpServer>>()
  const guards = (): ReportedGuard[] =>
    [...servers].flatMap(ref => {
      const server = ref.deref()
      if (server === undefined) servers.delete(ref)
      const guard = server === undefined || !server.listening ? undefined : guardOf(server)
      return guard === undefined ? [] : [guard.stats()]
    })
  for (const { prototype } of [HttpServer, HttpsServer]) {
    const listen = prototype.listen as (...args: unknown[]) => unknown
    const noteThenListen = function (this: HttpServer, ...args: unknown[]): unknown {
      servers.add(new WeakRef(this))
      return listen.apply(this, args)
    }
    Object.defineProperty(prototype, 'listen', { value: noteThenListen, configurable: true, writable: true })
  }
  try {
    reportTo(socketPath, guards)
  } catch (error) {
    warn(`could not report to meltlab watch; the app runs as it would. ${String(error)}`)
  }
}

function installStdout(stdoutOptions: StdoutOptions): void {
  try {
    install(stdoutOptions)
  } catch (error) {
    warn(`could not take over stdout and stderr; they are as Node has them. ${String(error)}`)
  }
}

function warn(text: string): void {
  process.emitWarning(`meltproof/register ${text}`, { type: 'MeltproofWarning' })
}
