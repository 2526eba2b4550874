/**
 * Stands around `fetch` and every dispatcher of an undici whose Agent serves, or has served, as the global one. It
 * replaces the `dispatch` of their common base class: so an app's own Agent, Pool or ProxyAgent of that undici is
 * bounded too, and `setGlobalDispatcher` undoes nothing.
 *
 * undici keeps its global dispatcher under two symbols: .1 since undici 5, .2 since 7.27. Each copy of undici in the
 * process, Node's own among them, uses what is there, or puts its own Agent there when it loads.
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { Dispatch, DispatchOptions, Handler } from './undici-types.ts'

const SYMBOLS = [Symbol.for('undici.globalDispatcher.1'), Symbol.for('undici.globalDispatcher.2')] as const

/** A dispatcher that is new to us opens a connection, and undici publishes that before. */
const BEFORE_CONNECT = 'undici:client:beforeConnect'

/** Sends with the original `dispatch`, or does not. `ownOrigin` is that of a Pool or Client, when it has one. */
export type Around = (
  dispatch: Dispatch,
  options: DispatchOptions,
  handler: Handler,
  ownOrigin: () => string | undefined,
) => boolean

interface DispatcherBase {
  dispatch: (options: DispatchOptions, handler: Handler) => boolean
}

/** Stands around `dispatch` until the returned function is called. */
export function aroundGlobalDispatchers(around: Around): () => void {
  const globals = globalThis as unknown as Record<symbol, unknown>
  const seen = new WeakSet<object>()
  const restore: (() => void)[] = []
  let active = true

  const adopt = (): void => {
    if (!active) return
    for (const symbol of SYMBOLS) {
      if (Object.getOwnPropertyDescriptor(globals, symbol)?.get === undefined) adoptOne(globals[symbol])
    }
  }
  const adoptOne = (dispatcher: unknown): void => {
    if (typeof dispatcher !== 'object' || dispatcher === null || seen.has(dispatcher)) return
    seen.add(dispatcher)
    const base = baseOf(dispatcher)
    if (base === undefined || seen.has(base)) return
    seen.add(base)
    restore.push(wrap(base, around, () => active))
  }

  // Where no undici has loaded yet, the first one looks here before it puts its Agent here. This accessor notices.
  for (const symbol of SYMBOLS) {
    if (globals[symbol] !== undefined) continue
    const get = (): undefined => {
      queueMicrotask(adopt)
      return undefined
    }
    Object.defineProperty(globals, symbol, { get, configurable: true, enumerable: false })
    restore.push(() => {
      if (Object.getOwnPropertyDescriptor(globals, symbol)?.get === get) delete globals[symbol]
    })
  }
  subscribe(BEFORE_CONNECT, adopt)
  restore.push(() => unsubscribe(BEFORE_CONNECT, adopt))
  adopt()

  return () => {
    active = false
    for (const undo of restore.splice(0)) undo()
  }
}

/** The prototype that defines `dispatch` for the whole family: the furthest one below the abstract Dispatcher. */
function baseOf(dispatcher: object): DispatcherBase | undefined {
  for (let at: object | null = dispatcher; at !== null; at = Object.getPrototypeOf(at) as object | null) {
    const own = Object.getOwnPropertyDescriptor(at, 'dispatch')
    if (typeof own?.value === 'function' && own.writable === true) return at as DispatcherBase
  }
  return undefined
}

function wrap(base: DispatcherBase, around: Around, active: () => boolean): () => void {
  const own = Object.getOwnPropertyDescriptor(base, 'dispatch')!
  const original = base.dispatch
  const bounded = function dispatch(this: object, options: DispatchOptions, handler: Handler): boolean {
    if (!active()) return Reflect.apply(original, this, [options, handler])
    return around(
      (o, h) => Reflect.apply(original, this, [o, h]),
      options,
      handler,
      () => originOfDispatcher(this),
    )
  }
  Object.defineProperty(base, 'dispatch', { ...own, value: bounded })
  return () => {
    // Where somebody has wrapped us since, we stay, and hand through.
    if (base.dispatch === bounded) Object.defineProperty(base, 'dispatch', own)
  }
}

/** Of a Pool or Client, which keeps its URL under a symbol. */
export function originOfDispatcher(dispatcher: object): string | undefined {
  for (const symbol of Object.getOwnPropertySymbols(dispatcher)) {
    if (symbol.description !== 'url') continue
    const url = (dispatcher as Record<symbol, unknown>)[symbol]
    if (url instanceof URL) return url.origin
  }
  return undefined
}
