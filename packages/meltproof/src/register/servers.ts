/** Runs when an HTTP server is about to listen: protects the server, and starts the parts that variables enable. */
import { createRequire } from 'node:module'
import type { Server } from 'node:net'
import { isMainThread } from 'node:worker_threads'
import { AllGuards } from '../cluster/all-guards.ts'
import { printsForCluster } from '../loaded.ts'
import { printDryRun } from './dry-run-lines.ts'
import { isInstalled } from '../logging/stdout/installed.ts'
import { isOwn } from '../cluster/held-port.ts'
import { settingsFrom } from './options.ts'
import { DEFAULT_LANES } from '../server/connection/lanes.ts'
import { handOver, sharesHandler } from '../server/connection/one-listener.ts'
import { type Guard, guardOf } from '../server/guard.ts'
import { isServer, type ProtectedServer, protect } from '../server/protect.ts'
import { warn as say } from '../warnings.ts'

/** Loads a part only if a variable enables it. Synchronous, because `listen()` does not wait. */
const load = createRequire(import.meta.url) as {
  (part: '../admin/admin.ts'): typeof import('../admin/admin.ts')
  (part: '../admin/probes.ts'): typeof import('../admin/probes.ts')
  (part: './drain-on-signal.ts'): typeof import('./drain-on-signal.ts')
  (part: '../culprit/index.ts'): typeof import('../culprit/index.ts')
  (part: '../haproxy/agent-of-all.ts'): typeof import('../haproxy/agent-of-all.ts')
  (part: '../logging/access-log.ts'): typeof import('../logging/access-log.ts')
  (part: '../logging/stdout.ts'): typeof import('../logging/stdout.ts')
  (part: '../observe/reporter.ts'): typeof import('../observe/reporter.ts')
  (part: '../outbound/zero-code.ts'): typeof import('../outbound/zero-code.ts')
}

const settings = settingsFrom(process.env)
const listened = new Set<WeakRef<ProtectedServer>>()
const logged = new WeakSet<Guard>()
let operates = false
const { watch } = settings
if (watch) {
  attempt('could not report to meltlab; the app runs as usual', () =>
    load('../observe/reporter.ts').reportTo(watch, guards),
  )
}

export function beforeListening(server: Server, args: readonly unknown[]): void {
  if (!isServer(server) || isOwn(server)) return
  guards() // Forgets servers that were garbage-collected.
  if (settings.on) protectOnce(server, args)
  listened.add(new WeakRef(server))
  if (!settings.on) serveProbesOnce()
  else {
    logOnce(guardOf(server))
    operateOnce()
  }
}

function serveProbesOnce(): void {
  const { admin } = settings
  if (operates || admin === undefined || !isMainThread) return
  operates = true
  const isListening = (): boolean => listeningServers().length > 0
  attempt('has no admin port', () => load('../admin/probes.ts').serveProbes(admin, isListening, warn))
}

/** Called in the primary of a cluster, which may have no server. */
export function drainWorkers(): void {
  if (settings.on && !operates) drain()
}

/** The guards of the servers that listen, each once. */
function guards(): Guard[] {
  const found = new Set<Guard>()
  for (const ref of listened) {
    const server = ref.deref()
    const guard = server?.listening ? guardOf(server) : undefined
    if (server === undefined || (guard !== undefined && found.has(guard))) listened.delete(ref)
    if (guard !== undefined) found.add(guard)
  }
  return [...found]
}

function listeningServers(): ProtectedServer[] {
  return [...listened].flatMap(ref => ref.deref() ?? []).filter(({ listening }) => listening)
}

function protectOnce(server: ProtectedServer, listenArguments: readonly unknown[]): void {
  // If the server already listens, Node's own listen() throws.
  if (server.listening || guardOf(server) !== undefined) return
  for (const ref of listened) {
    const first = ref.deref()
    if (first === undefined || guardOf(first) === undefined || !sharesHandler(server, listenArguments, first)) continue
    attempt('could not make two listen() calls share one guard', () =>
      handOver(server, first, settings.protect.lanes ?? DEFAULT_LANES),
    )
    return
  }
  attempt('could not protect a server; it runs unprotected', () => protect(server, settings.protect))
}

function logOnce(guard: Guard | undefined): void {
  if (settings.accessLog === undefined || guard === undefined || logged.has(guard)) return
  logged.add(guard)
  attempt('could not log requests', () => load('../logging/access-log.ts').accessLog(guard, settings.accessLog))
}

/** Runs for the first server that listens: jobs, scripts and a cluster's primary need none of these parts. */
function operateOnce(): void {
  if (operates) return
  operates = true
  const { stdout, outbound, admin, haproxyAgent, culprit } = settings
  if (outbound !== undefined) {
    attempt('could not limit outbound calls; they run without limits', () =>
      load('../outbound/zero-code.ts').boundOutbound(outbound),
    )
  }
  if (settings.protect.dryRun === true) {
    const all = new AllGuards(guards)
    attempt('cannot report on the dry run', () => printDryRun(() => (all.any ? all.stats() : undefined), warn))
  }
  // Worker threads inherit the variables. The rest concerns the whole process, so only its main thread does it.
  if (!isMainThread) return
  // An app that has installed meltproof/stdout itself keeps its own options.
  if (stdout !== undefined && !isInstalled()) {
    attempt('could not take over stdout and stderr; they work as without meltproof', () =>
      load('../logging/stdout.ts').install(stdout),
    )
  }
  if (printsForCluster()) for (const warning of settings.warnings) warn(`is configured wrongly: ${warning}`)
  drain()
  if (culprit !== undefined) attempt('cannot name stalls', () => load('../culprit/index.ts').watchStalls(culprit))
  if (admin !== undefined) attempt('has no admin port', () => load('../admin/admin.ts').serveAdmin(admin, guards, warn))
  if (haproxyAgent !== undefined) {
    attempt("cannot answer HAProxy's agent checks", () =>
      load('../haproxy/agent-of-all.ts').serveAgent(haproxyAgent, guards, warn),
    )
  }
}

let drains = false

function drain(): void {
  if (!settings.drain || drains) return
  drains = true
  attempt('cannot drain on signals', () =>
    load('./drain-on-signal.ts').drainOnSignal(guards, listeningServers, settings.protect.drainDelayMs),
  )
}

function attempt(failure: string, act: () => unknown): void {
  try {
    act()
  } catch (error) {
    warn(`${failure}. ${String(error)}`)
  }
}

function warn(text: string): void {
  say(`meltproof/register ${text}`)
}
