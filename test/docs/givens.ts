/**
 * Globals for the JavaScript blocks of the documents. A block shadows those that it declares itself. Loaded before the
 * block, which ends with `finish()`. The table below has all of them.
 */
import { once } from 'node:events'
import http from 'node:http'
import { createRequire, registerHooks } from 'node:module'
import net, { type AddressInfo } from 'node:net'

/** Packages that are not installed here, each with a stand-in. */
const STAND_INS: Readonly<Record<string, string>> = {
  bullmq: 'export class Worker { constructor(name, work) { this.done = work({ data: name }) } close() {} }', // needs a Redis
}
registerHooks({
  resolve: (specifier, context, next) =>
    specifier in STAND_INS
      ? { url: `data:text/javascript,${encodeURIComponent(STAND_INS[specifier]!)}`, shortCircuit: true }
      : next(specifier, context),
})

const listened = new Set<http.Server>()
const { listen } = net.Server.prototype
net.Server.prototype.listen = function (this: net.Server, ...args: unknown[]) {
  if (this instanceof http.Server) listened.add(this)
  return (listen as (...args: unknown[]) => net.Server).apply(this, args)
} as typeof listen

/** A service that the block calls. */
const dependency = http.createServer((_request, response) => response.end('{}'))
await once(dependency.listen(0, '127.0.0.1'), 'listening')
dependency.unref()
listened.delete(dependency)
const url = `http://127.0.0.1:${(dependency.address() as AddressInfo).port}/`

// Packages load on first use, because most blocks need few of them.
const load = createRequire(import.meta.url)
const makeApp = () => {
  const app = (load('express') as typeof import('express'))()
  setImmediate(() => app.get('/', (_request, response) => void response.end('answered'))) // after the block's routes
  return app
}
const handle = async (): Promise<string> => 'handled'

const given: Readonly<Record<string, () => unknown>> = {
  http: () => http,
  app: makeApp,
  server: () => http.createServer((_request, response) => response.end('answered')),
  guard: () => load('meltproof').protect(global.server),
  protect: () => load('meltproof').protect,
  url: () => url,
  id: () => 7,
  fetchUser: () => () => fetch(url),
  findUser: () => handle,
  handle: () => handle,
  recommendations: () => async () => [],
  install: () => load('meltproof/outbound').install,
  within: () => load('meltproof/deadline').within,
  jobs: () => load('meltproof/limiter').limiter(),
  job: () => ({}),
  limiter: () => load('meltproof/limiter').limiter,
  pg: () => load('pg'),
  config: () => ({}),
  connection: () => ({}),
  tide: () => ({ app: global.app }),
  sockets: () => ({ on: (_event: string, listener: (socket: object) => void) => listener({ on: () => undefined }) }),
}
const global = globalThis as unknown as { readonly app: unknown; readonly server: http.Server }
for (const [name, get] of Object.entries(given)) {
  let value: unknown
  const made = (): unknown => {
    value ??= get()
    return value
  }
  Object.defineProperty(globalThis, name, { configurable: true, get: made })
}

/** Checks that the servers of the block answer, or at least accept a request, and ends the process. */
async function finish(does: 'answers' | 'loads'): Promise<void> {
  if (listened.size === 0) listened.add(global.server.listen(0))
  for (const each of listened) {
    if (!each.listening) await once(each, 'listening')
    const { port } = each.address() as AddressInfo
    const { status } = await fetch(`http://localhost:${port}/`)
    if (status >= 500 && does === 'answers') throw new Error(`the server of this block answers ${status}`)
  }
  process.exit(0)
}
Object.assign(globalThis, { finish })
