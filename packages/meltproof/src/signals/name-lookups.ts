/** Watches the name lookups of this process while a subscriber needs to know how long they waited for a thread. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { access } from 'node:fs'
import { getBuiltinModule } from 'node:process'
import { setTimeout } from 'node:timers'
import { now } from '../clock.ts'
import type { Interval } from '../record.ts'
import { type Method, replaceMethod } from '../replace-method.ts'
import { type Lookup, LookupWaits } from './lookup-waits.ts'

const waits = new LookupWaits()
/** Runs a function outside every async context: a probe must not retain the request whose lookup it precedes. */
const atRoot: <R>(run: () => R) => R = AsyncLocalStorage.snapshot()
let watchers = 0
let unwatch: (() => void) | undefined
/** The pause between further probes of a free pool. */
let pause: NodeJS.Timeout | undefined

/**
 * Until the returned function is called, an empty job in the thread pool precedes each `dns.lookup`, with which
 * node:net, and so every client, resolves names. This costs about 20 us for each new connection to a name.
 */
export function watchLookups(): () => void {
  // In a pool of one thread a slow lookup delays all others: such a wait is the network's fault, not this process's.
  if (process.env['UV_THREADPOOL_SIZE'] === '1') return () => undefined
  if (watchers++ === 0) unwatch = replaceMethod(getBuiltinModule('node:dns'), 'lookup', watched)
  return () => {
    if (--watchers === 0) unwatch?.()
  }
}

export function lookupWaits(host: string, fromMs: number, toMs: number): Interval[] {
  return waits.between(host, fromMs, toMs)
}

function watched(original: Method, isOn: () => boolean): Method {
  return function lookup(host: unknown, ...rest: unknown[]): unknown {
    const callback = rest.at(-1)
    if (!isOn() || typeof host !== 'string' || host === '' || typeof callback !== 'function') {
      return original(host, ...rest)
    }
    const begun = begin(host)
    if (begun === undefined) return original(host, ...rest)
    const ended = function (this: unknown, ...results: unknown[]): unknown {
      waits.end(begun, now())
      return Reflect.apply(callback, this, results)
    }
    try {
      return original(host, ...rest.slice(0, -1), ended)
    } catch (error) {
      waits.end(begun, now())
      throw error
    }
  }
}

function begin(host: string): Lookup | undefined {
  const lookup = waits.begin(host, now())
  const isSent = probe(() => {
    waits.probed(lookup, now())
    probeAgain()
  })
  if (isSent) return lookup
  waits.end(lookup, now())
  return undefined
}

function probeAgain(): void {
  if (pause !== undefined || !waits.beginProbe(now())) return
  const ended = (): void => {
    const pauseMs = waits.endProbe(now())
    if (pauseMs === 0) probeAgain()
    else pause = setTimeout(goOn, pauseMs).unref()
  }
  if (!probe(ended)) waits.endProbe(now())
}

function goOn(): void {
  pause = undefined
  probeAgain()
}

/** The cheapest job for the thread pool: `access()` does not use io_uring, and `/` always exists. */
function probe(done: () => void): boolean {
  try {
    atRoot(() => access('/', done))
    return true
  } catch {
    // Node's permission model may forbid it.
    return false
  }
}
