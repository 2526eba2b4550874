/**
 * `node --import meltproof/register app.js`: every HTTP server of the process is protected when it starts to listen,
 * however its module got hold of `node:http`; every call the process makes is bounded, and what it logs waits for no
 * reader. Side effects only.
 */
import { Server } from 'node:net'
import { isMainThread } from 'node:worker_threads'
import { serveAdmin } from './admin/admin.ts'
import { AllGuards } from './all-guards.ts'
import { drainOnSignal } from './drain-on-signal.ts'
import { tellDryRun } from './dry-run-lines.ts'
import { guardOf } from './guard-of.ts'
import { serveAgent } from './haproxy/agent-of-all.ts'
import { accessLog } from './logging/access-log.ts'
import { install } from './logging/stdout.ts'
import { reportTo } from './observe/reporter.ts'
import { boundOutbound } from './outbound/zero-code.ts'
import { environmentUnderPm2, isBeforePm2 } from './pm2-environment.ts'
import { settingsFrom } from './register-options.ts'
import { DEFAULT_LANES } from './server/connection/lanes.ts'
import { handOver, isOneWith } from './server/connection/one-listener.ts'
import type { Guard } from './server/guard.ts'
import { isServer, type ProtectedServer, protect } from './server/protect.ts'
import { warn as say, warnEach } from './warnings.ts'

const settings = settingsFrom(environmentUnderPm2(process.env))
const listened = new Set<WeakRef<ProtectedServer>>()
const logged = new WeakSet<Guard>()
/** What is said before PM2 has taken a worker's stderr is lost, so it waits until a server listens. */
let early: string[] | undefined = isBeforePm2(process.env) ? [] : undefined
let operates = false
let tellsDryRun = false
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
  if (settings.outbound !== undefined) boundOutbound(settings.outbound, warn)
  if (settings.drain && isMainThread) drainOnSignal(guards, settings.protect.drainDelayMs)
}
if (settings.on || watch) {
  beforeListening((server, args) => {
    const kept = early ?? []
    early = undefined
    for (const text of kept) warn(text)
    guards() // Forgets servers that are gone.
    if (settings.on) protectOnce(server, args)
    listened.add(new WeakRef(server))
    if (!settings.on) return
    logOnce(guardOf<Guard>(server))
    operateOnce()
    dryRunOnce()
  })
}

/** Of the servers that listen, each once. */
function guards(): Guard[] {
  const found = new Set<Guard>()
  for (const ref of listened) {
    const server = ref.deref()
    const guard = server?.listening ? guardOf<Guard>(server) : undefined
    if (server === undefined || (guard !== undefined && found.has(guard))) listened.delete(ref)
    if (guard !== undefined) found.add(guard)
  }
  return [...found]
}

function protectOnce(server: ProtectedServer, listenArguments: readonly unknown[]): void {
  // On a server that listens already, listen() throws Node's own error.
  if (server.listening || guardOf(server) !== undefined) return
  for (const ref of listened) {
    const first = ref.deref()
    if (first === undefined || guardOf(first) === undefined || !isOneWith(server, listenArguments, first)) continue
    attempt('could not join two servers', () => handOver(server, first, settings.protect.lanes ?? DEFAULT_LANES))
    return
  }
  attempt('could not protect a server; it runs unprotected', () => protect(server, settings.protect))
}

function logOnce(guard: Guard | undefined): void {
  if (settings.accessLog === undefined || guard === undefined || logged.has(guard)) return
  logged.add(guard)
  attempt('could not log requests', () => accessLog(guard, settings.accessLog))
}

/** Not before the app listens: the primary of a cluster has nothing to show. */
function operateOnce(): void {
  const { admin, haproxyAgent } = settings
  if (operates || !isMainThread) return
  operates = true
  if (admin !== undefined) attempt('has no admin port', () => serveAdmin(admin, guards, warn))
  if (haproxyAgent !== undefined) {
    attempt("has no port for HAProxy's agent checks", () => serveAgent(haproxyAgent, guards, warn))
  }
}

function dryRunOnce(): void {
  if (settings.protect.dryRun !== true || tellsDryRun) return
  tellsDryRun = true
  const all = new AllGuards(guards)
  attempt('can not tell of the dry run', () =>
    tellDryRun(() => (all.any ? all.stats() : undefined), { all: warn, each: line => warnEach(named(line)) }),
  )
}

/** Every kind of HTTP server inherits `listen` from net.Server. */
function beforeListening(act: (server: ProtectedServer, args: readonly unknown[]) => void): void {
  const { prototype } = Server
  const listen = prototype.listen as (...args: unknown[]) => unknown
  const actThenListen = function (this: Server, ...args: unknown[]): unknown {
    if (isServer(this)) act(this, args)
    return listen.apply(this, args)
  }
  Object.defineProperty(prototype, 'listen', { value: actThenListen, configurable: true, writable: true })
}

function attempt(failure: string, act: () => unknown): void {
  try {
    act()
  } catch (error) {
    warn(`${failure}. ${String(error)}`)
  }
}

function warn(text: string): void {
  if (early !== undefined) early.push(text)
  else say(named(text))
}

function named(text: string): string {
  return `meltproof/register ${text}`
}
