/**
 * `node --import meltproof/register app.js`: every HTTP server of the process is protected when it starts to listen,
 * however its module imported `node:http`. This file has only side effects.
 *
 * Every process that inherits NODE_OPTIONS loads this file, and most never listen: scripts, jobs, worker threads. So it
 * imports almost nothing, loads no Node module that the process would not load anyway, and leaves the rest to
 * `register/servers.ts`, which the first `listen()` of an HTTP server loads. (An `import` of `node:http` would load all
 * its exports, such as WebSocket with all of undici; `process.getBuiltinModule()` does not.)
 */
import type { Server } from 'node:net'
import { isHttp2Server, isHttpsServer, isLoaded, loadedCluster } from './loaded.ts'
import { OFF, ON } from './register/on-or-off.ts'

type Servers = typeof import('./register/servers.ts')

const [MAJOR = 0, MINOR = 0] = process.versions.node.split('.').map(Number)

/** The newest major version of Node for which tests confirm that `net` is loaded as `beforeListening` expects. */
const NEWEST_KNOWN_NODE = 26

/** Set once per thread, so that a second copy of meltproof given to `--import` does nothing. */
const REGISTERED: unique symbol = Symbol.for('meltproof.register') as never
/**
 * Node's timers at the start of the process. scripts/bundle.ts makes the rest of meltproof use them, because the first
 * listen() may come while a test of the app fakes the timers.
 */
const TIMERS: unique symbol = Symbol.for('meltproof.timers') as never

/** register/servers.ts, once loaded; `false` if loading failed. */
let loaded: Servers | false | undefined

start()

function start(): void {
  const host = process as { [REGISTERED]?: true; [TIMERS]?: object }
  const { env } = process
  const isOff = OFF.test(env['MELTPROOF'] ?? '')
  // When meltproof is off, meltlab and probes still need answers.
  if ((isOff && !env['MELTPROOF_WATCH'] && !env['MELTPROOF_ADMIN']) || host[REGISTERED]) return
  host[REGISTERED] = true
  // Children with an older Node inherit NODE_OPTIONS, too.
  if (MAJOR < 22 || (MAJOR === 22 && MINOR < 12)) {
    process.emitWarning('meltproof/register needs Node 22.12 or later; servers run unprotected.', 'MeltproofWarning')
    return
  }
  // Copies descriptors, because reading the member `promises` would load another module.
  host[TIMERS] = Object.create(null, Object.getOwnPropertyDescriptors(process.getBuiltinModule('node:timers')))
  beforeListening((server, args) => load()?.beforeListening(server, args))
  const culprit = env['MELTPROOF_CULPRIT']
  if (culprit && !isOff && !OFF.test(culprit)) watchAddons()
  // Loading the file tells meltlab that this is a Node process, even if it protects no server.
  if (env['MELTPROOF_WATCH']) load()
  else if (ON.test(env['MELTPROOF_DRAIN'] ?? '')) onWorkerListening(() => load()?.drainWorkers())
}

/** Watches native addons from now on, because apps load them before a server listens. */
function watchAddons(): void {
  const { dlopen } = process
  process.dlopen = (...args) => {
    Reflect.apply(dlopen, process, args)
    try {
      const require = process.getBuiltinModule('node:module').createRequire(import.meta.url)
      const { watchAddon } = require('./culprit/addon-calls.ts') as typeof import('./culprit/addon-calls.ts')
      watchAddon(args[0])
    } catch {
      // Nothing is printed here: if culprit/ cannot be loaded either, register/servers.ts reports that.
    }
  }
}

/** Loads register/servers.ts. If that fails, servers run as without meltproof. */
function load(): Servers | undefined {
  if (loaded === undefined) {
    try {
      const require = process.getBuiltinModule('node:module').createRequire(import.meta.url)
      loaded = require('./register/servers.ts') as Servers
    } catch (error) {
      loaded = false
      process.emitWarning(`meltproof/register could not be loaded; servers run unprotected. ${String(error)}`, {
        type: 'MeltproofWarning',
      })
    }
  }
  return loaded || undefined
}

/**
 * Every HTTP server inherits `listen` from net.Server. Loading `net` costs a plain process 2 MB of memory. So until
 * other code loads it, a setter on EventEmitter.prototype waits for an assignment to `_listen2`. net.Server.prototype
 * inherits the setter, and only Node assigns that name, just before `listen`.
 */
function beforeListening(act: (server: Server, args: readonly unknown[]) => void): void {
  if (MAJOR > NEWEST_KNOWN_NODE || isLoaded('net')) {
    wrapListen(process.getBuiltinModule('node:net').Server.prototype, act)
    return
  }
  const { prototype } = process.getBuiltinModule('node:events').EventEmitter
  onAssignment(prototype, '_listen2', serverPrototype => {
    onAssignment(serverPrototype, 'listen', () => wrapListen(serverPrototype as Server, act))
  })
}

/** Calls `act` with the first object to which the property is assigned: `holder` or one that inherits from it. */
function onAssignment(holder: object, name: string, act: (assigned: object) => void): void {
  Object.defineProperty(holder, name, {
    configurable: true,
    get: () => undefined,
    set(this: object, value: unknown) {
      Reflect.deleteProperty(holder, name)
      Object.defineProperty(this, name, { value, configurable: true, enumerable: true, writable: true })
      act(this)
    },
  })
}

function wrapListen(prototype: Server, act: (server: Server, args: readonly unknown[]) => void): void {
  const listen = prototype.listen as (...args: unknown[]) => unknown
  const actThenListen = function (this: Server, ...args: unknown[]): unknown {
    if (isHttpServer(this)) act(this, args)
    return Reflect.apply(listen, this, args)
  }
  Object.defineProperty(prototype, 'listen', { value: actThenListen, configurable: true, writable: true })
}

function isHttpServer(server: Server): boolean {
  const isPlain = isLoaded('_http_server') && server instanceof process.getBuiltinModule('node:http').Server
  return isPlain || isHttpsServer(server) || isHttp2Server(server)
}

/** Calls `act` in a primary once a worker listens. The primary may have no server, but its workers end with it. */
function onWorkerListening(act: () => void): void {
  const forks = process.getBuiltinModule('node:diagnostics_channel')
  const onFork = (): void => {
    if (!isLoaded('cluster')) return
    forks.unsubscribe('child_process', onFork)
    loadedCluster().once('listening', act)
  }
  forks.subscribe('child_process', onFork)
}
