/**
 * Takes over fs.write(), fs.writeSync(), fs.writev() and fs.writevSync() for the descriptors of the standard streams.
 * Loggers that want to be fast go past process.stdout to the descriptor: pino.destination(), and every pino transport
 * in its worker. On a full pipe they sleep with the event loop (sonic-boom waits 100 ms at a time) or buffer without
 * bound, exactly like what they went past. All other descriptors go where they went.
 */
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import type { Outlet } from './buffered-writer.ts'

type Write = (data: string | Uint8Array) => void
type AnyFunction = (...args: never[]) => unknown

const NAMES = ['write', 'writeSync', 'writev', 'writevSync'] as const

/** Returns what undoes it; a copy of ours that somebody kept then passes on to the originals. */
export function takeOverDescriptors(outletOf: (fd: number) => Pick<Outlet, 'write'> | undefined): () => void {
  const originals = NAMES.map(name => fs[name] as AnyFunction)
  const [write, writeSync, writev, writevSync] = originals as [AnyFunction, AnyFunction, AnyFunction, AnyFunction]

  let on = true
  const into = (fd: unknown): Write | undefined => {
    if (!on || (fd !== 1 && fd !== 2)) return undefined
    const outlet = outletOf(fd)
    return outlet === undefined ? undefined : data => outlet.write(data, undefined)
  }

  const replacements: Record<(typeof NAMES)[number], AnyFunction> = {
    write(...args: unknown[]) {
      const target = into(args[0])
      const callback = args.at(-1)
      const data = target === undefined || typeof callback !== 'function' ? undefined : dataOf(args.slice(1, -1))
      if (data === undefined) return Reflect.apply(write, fs, args)
      target!(data)
      process.nextTick(callback as AnyFunction, null as never, Buffer.byteLength(data) as never, args[1] as never)
      return undefined
    },
    writeSync(...args: unknown[]) {
      const target = into(args[0])
      const data = target === undefined ? undefined : dataOf(args.slice(1))
      if (data === undefined) return Reflect.apply(writeSync, fs, args)
      target!(data)
      return Buffer.byteLength(data)
    },
    writev(...args: unknown[]) {
      const target = into(args[0])
      const callback = args.at(-1)
      const views = args[1]
      const usable = target !== undefined && areViews(views) && args.length === 3 && typeof callback === 'function'
      if (!usable) return Reflect.apply(writev, fs, args)
      const all = Buffer.concat(views)
      target(all)
      process.nextTick(callback as AnyFunction, null as never, all.length as never, views as never)
      return undefined
    },
    writevSync(...args: unknown[]) {
      const target = into(args[0])
      if (target === undefined || !areViews(args[1]) || args.length > 2) return Reflect.apply(writevSync, fs, args)
      const all = Buffer.concat(args[1])
      target(all)
      return all.length
    },
  } as never

  for (const [i, name] of NAMES.entries()) {
    // With what hangs on them, such as the form of util.promisify().
    Object.defineProperties(replacements[name], Object.getOwnPropertyDescriptors(originals[i]!))
    set(name, replacements[name])
  }
  syncBuiltinESMExports()

  return () => {
    on = false
    for (const [i, name] of NAMES.entries()) if (fs[name] === replacements[name]) set(name, originals[i]!)
    syncBuiltinESMExports()
  }
}

function set(name: string, value: AnyFunction): void {
  Object.defineProperty(fs, name, { value, configurable: true, enumerable: true, writable: true })
}

/**
 * The data of (string, position?, encoding?), (buffer, offset?, length?, position?) or (buffer, options?); undefined
 * for what is better left to Node: a position, bad arguments, other encodings.
 */
function dataOf([data, a, b, c]: readonly unknown[]): string | Uint8Array | undefined {
  if (typeof data === 'string') {
    const atPosition = typeof a === 'number' || typeof a === 'bigint'
    return !atPosition && (b === undefined || b === null || b === 'utf8' || b === 'utf-8') ? data : undefined
  }
  if (!ArrayBuffer.isView(data)) return undefined
  const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
  if (a === undefined || a === null) return b === undefined || b === null ? bytes : undefined
  if (typeof a === 'object' || (c !== undefined && c !== null && c !== -1)) return undefined
  const offset = a
  const length = b ?? bytes.length - Number(offset)
  if (!Number.isInteger(offset) || !Number.isInteger(length)) return undefined
  const end = (offset as number) + (length as number)
  if ((offset as number) < 0 || (length as number) < 0 || end > bytes.length) return undefined
  return bytes.subarray(offset as number, end)
}

function areViews(value: unknown): value is Uint8Array[] {
  return Array.isArray(value) && value.every(each => each instanceof Uint8Array)
}
