/**
 * `node --import meltproof/register app.js`: every HTTP server of the process is protected when it starts to listen,
 * however its module got hold of `node:http`; every call the process makes is bounded, and what it logs waits for no
 * reader. Side effects only.
 */
import { Server } from 'node:net'
import { isMainThread } from 'node:worker_threads'
import { drainOnSignal } from './drain-on-signal.ts'
import { guardOf } from './guard-of.ts'
import { install } from './logging/stdout.ts'
import { reportTo } from './observe/reporter.ts'
import { boundOutbound } from './outbound/zero-code.ts'
import { environmentUnderPm2 } from './pm2-environment.ts'
import { settingsFrom } from './register-options.ts'
import type { Guard } from './server/guard.ts'
import { isHttp2Server, isServer, type ProtectedServer, protect } from './server/protect.ts'

const settings = settingsFrom(environmentUnderPm2(process.env))
const listened = new Set<WeakRef<ProtectedServer>>()
let saidStreams = false
const { watch } = settings
if (watch) {
  attempt('could not report to meltlab watch; the app runs as it would', () =>
    reportTo(watch, () => guards().map(guard => guard.stats())),
  )
}
if (settings.on) {
  // Threads have the variables of the process.
  if (isMainThread) for (const warning of settings.warnings) warn(`was set up wrongly: ${warning}`)
  if (settings.stdout !== undefined) {
    attempt('could not take over stdout and stderr; they are as Node has them', () => install(settings.stdout))
  }
  if (settings.outbound) boundOutbound(warn)
  if (settings.drain && isMainThread) drainOnSignal(guards, settings.protect.drainDelayMs)
}
if (settings.on || watch) {
  beforeListening(server => {
    if (watch || settings.drain) listened.add(new WeakRef(server))
    if (settings.on) protectOnce(server)
  })
}

/** Of the servers that listen. */
function guards(): Guard[] {
  return [...listened].flatMap(ref => {
    const server = ref.deref()
    if (server === undefined) listened.delete(ref)
    const guard = server === undefined || !server.listening ? undefined : guardOf<Guard>(server)
    return guard === undefined ? [] : [guard]
  })
}

function protectOnce(server: ProtectedServer): void {
  // On a server that listens already, listen() throws Node's own error.
  if (server.listening || guardOf(server) !== undefined) return
  if (isHttp2Server(server) && server.listenerCount('request') === 0) {
    sayStreams()
    return
  }
  attempt('could not protect a server; it runs unprotected', () => protect(server, settings.protect))
}

/** Every kind of HTTP server inherits `listen` from net.Server. */
function beforeListening(act: (server: ProtectedServer) => void): void {
  const { prototype } = Server
  const listen = prototype.listen as (...args: unknown[]) => unknown
  const actThenListen = function (this: Server, ...args: unknown[]): unknown {
    if (isServer(this)) act(this)
    return listen.apply(this, args)
  }
  Object.defineProperty(prototype, 'listen', { value: actThenListen, configurable: true, writable: true })
}

/** gRPC, for one, takes the streams of HTTP/2 without requests. */
function sayStreams(): void {
  if (!saidStreams) warn("does not protect a server that takes HTTP/2 streams instead of 'request' events")
  saidStreams = true
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
