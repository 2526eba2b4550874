/** Observes the pools and queries of pg and mysql2, whether loaded by require() or import. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { subscribe } from 'node:diagnostics_channel'
import { callSite, type Site } from './call-site.ts'
import { type Observations, quietly } from './observations.ts'

type Methods = Record<string, (this: never, ...args: never[]) => unknown>

/** The call site. When a pool gets a connection and sends the query, the stack no longer names the caller. */
const caller = new AsyncLocalStorage<Site>()

const PG = ['pg', 'pg-pool']
const MYSQL = ['mysql2']

/** meltproof marks the clients that its bound() received. */
const BOUND = Symbol.for('meltproof.bound')

export function watchDatabases(observations: Observations): void {
  const seen = new WeakSet<object>()
  subscribe('tracing:module.require:end', message => {
    quietly(() => {
      const { id, parentFilename, result } = message as { id: string; parentFilename?: string; result?: unknown }
      if (typeof id !== 'string' || result === null || (typeof result !== 'object' && typeof result !== 'function'))
        return
      const observe = observerOf(id, parentFilename ?? '')
      if (observe === undefined || seen.has(result)) return
      seen.add(result)
      observe(result, observations)
    })
  })
}

/** `id` is a file path for ES modules, and the argument of require() for CommonJS. */
function observerOf(id: string, parent: string): typeof observePg | undefined {
  if (id === 'pg' || /[\\/]node_modules[\\/]pg[\\/]lib[\\/]index\.js$/.test(id)) return observePg
  if (!/[\\/]node_modules[\\/]mysql2[\\/]/.test(parent)) return undefined
  return /[\\/](pool|connection)(\.js)?$/.test(id) ? observeMysql : undefined
}

interface PgPool {
  readonly options: { readonly connectionTimeoutMillis?: number; readonly max?: number; readonly host?: string }
  readonly waitingCount: number
}

interface PgClient {
  readonly host?: string
  readonly port?: number
  readonly connectionParameters?: { readonly query_timeout?: unknown; readonly statement_timeout?: unknown }
}

function observePg(loaded: object, observations: Observations): void {
  const { Client, Pool } = loaded as { Client?: { prototype: object }; Pool?: { prototype: object } }
  // pg's Pool inherits these methods from pg-pool.
  const pool = Pool === undefined ? undefined : Object.getPrototypeOf(Pool.prototype)
  before(pool, 'connect', PG, observations, (self: PgPool, site) => {
    if (self.options.connectionTimeoutMillis) return
    const { max = 10, host } = self.options
    const what = `${max} pg connections${host === undefined ? '' : ` to ${host}`}`
    observations.add('pg-pool-endless', what, site.where, self.waitingCount)
  })
  before(pool, 'query', PG, observations, () => {})
  before(Client?.prototype, 'query', PG, observations, (self: PgClient, site, config) => {
    const { query_timeout: most, statement_timeout: statement } = self.connectionParameters ?? {}
    const own = (config as { query_timeout?: unknown } | null | undefined)?.query_timeout
    if (most || statement || own || site.throughMeltproof) return
    observations.add('pg-query-unbounded', `${self.host ?? 'the server'}:${self.port ?? 5432}`, site.where)
  })
}

interface MysqlPool {
  readonly config: {
    readonly waitForConnections?: boolean
    readonly queueLimit?: number
    readonly connectionLimit?: number
    readonly connectionConfig?: { readonly host?: string }
  }
  readonly _connectionQueue?: { readonly length: number }
}

function observeMysql(loaded: object, observations: Observations): void {
  const { prototype } = loaded as { prototype?: object }
  before(prototype, 'getConnection', MYSQL, observations, (self: MysqlPool, site) => {
    const { waitForConnections, queueLimit, connectionLimit, connectionConfig } = self.config
    // The wait is not endless: calls fail at once, have a limit (perhaps meltproof's), or connections are unlimited.
    if (waitForConnections === false || queueLimit || !connectionLimit || BOUND in self) return
    const what = `${connectionLimit} mysql2 connections to ${connectionConfig?.host ?? 'the server'}`
    observations.add('mysql-pool-endless', what, site.where, self._connectionQueue?.length ?? 0)
  })
  const isPool = prototype !== undefined && Object.hasOwn(prototype, 'getConnection')
  for (const name of ['query', 'execute']) {
    before(prototype, name, MYSQL, observations, (self: { config?: { host?: string; port?: number } }, site, query) => {
      if (isPool || site.throughMeltproof) return
      const { timeout, options } = (query ?? {}) as { timeout?: number; options?: { timeout?: number } }
      if (timeout || options?.timeout) return
      const { host = 'the server', port = 3306 } = self.config ?? {}
      observations.add('mysql-query-unbounded', `${host}:${port}`, site.where)
    })
  }
}

const CONNECTS: ReadonlySet<string> = new Set(['connect', 'getConnection'])

function inContext(site: Site, callback: (...args: unknown[]) => unknown): (...args: unknown[]) => unknown {
  return function (this: unknown, ...args: unknown[]): unknown {
    return caller.run(site, () => Reflect.apply(callback, this, args))
  }
}

/** Runs `look` before each call of a method. A nested call counts for the code that made the outer call. */
function before<Self>(
  prototype: object | undefined,
  name: string,
  besides: readonly string[],
  observations: Observations,
  look: (self: Self, site: Site, ...args: unknown[]) => void,
): void {
  if (prototype === undefined || !Object.hasOwn(prototype, name)) return
  const original = (prototype as Methods)[name]!
  const observed = function (this: Self, ...args: unknown[]): unknown {
    if (!observations.on) return Reflect.apply(original, this as never, args as never)
    let site: Site | undefined
    quietly(() => {
      const here = callSite(besides)
      site = here.own ? here : { ...here, where: caller.getStore()?.where ?? here.where }
      look(this, site, ...args)
    })
    const call = (): unknown => Reflect.apply(original, this as never, args as never)
    if (site === undefined) return call()
    // A pool calls back in the context of the code that returned a connection, so this restores the caller's context.
    const callback = args.at(-1)
    if (CONNECTS.has(name) && typeof callback === 'function')
      args.splice(-1, 1, inContext(site, callback as () => unknown))
    return caller.run(site, call)
  }
  Object.defineProperty(observed, 'name', { value: name, configurable: true })
  Object.defineProperty(observed, 'length', { value: original.length, configurable: true })
  Object.defineProperty(prototype, name, { value: observed, configurable: true, writable: true, enumerable: false })
}
