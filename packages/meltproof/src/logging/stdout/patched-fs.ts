/**
 * Redirects fs.write(), fs.writeSync(), fs.writev() and fs.writevSync() on descriptors 1 and 2 to a writer. Fast
 * loggers, such as pino.destination(), use these instead of process.stdout. On a full pipe they block the event loop
 * (sonic-boom waits 100 ms at a time) or buffer without bound.
 */
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import type { BufferedWriter } from './buffered-writer.ts'
import { byteLength, type Output } from './line-ends.ts'
import { type Method, replaceMethod } from '../../replace-method.ts'

const METHODS = { write: outputOf, writeSync: outputOf, writev: outputOfMany, writevSync: outputOfMany }

export function patchFs(writers: ReadonlyMap<unknown, BufferedWriter>): () => void {
  const undos = Object.entries(METHODS).map(([name, outputOf]) => {
    const isSync = name.endsWith('Sync')
    return replaceMethod(fs, name, (original, isOn) => (...args) => {
      const [fd, data] = args
      const writer = isOn() ? writers.get(fd) : undefined
      const callback = isSync ? undefined : args.at(-1)
      if (writer === undefined || (!isSync && typeof callback !== 'function')) return original(...args)
      const output = outputOf(args.slice(1, isSync ? undefined : -1))
      if (output === undefined) return original(...args)
      writer.write(output, undefined)
      const length = byteLength(output)
      if (isSync) return length
      process.nextTick(callback as Method, null, length, data)
      return undefined
    })
  })
  syncBuiltinESMExports()
  return () => {
    for (const undo of undos) undo()
    syncBuiltinESMExports()
  }
}

/** Reads (string, position?, encoding?) or (buffer, offset?, length?, position?). Undefined for other arguments. */
function outputOf([data, a, b, c]: readonly unknown[]): Output | undefined {
  if (typeof data === 'string') {
    const atPosition = typeof a === 'number' || typeof a === 'bigint'
    return !atPosition && (b == null || b === 'utf8' || b === 'utf-8') ? data : undefined
  }
  if (!ArrayBuffer.isView(data)) return undefined
  const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
  if (a == null) return b == null ? bytes : undefined
  const length = b ?? bytes.length - Number(a)
  if (!isIndex(a) || !isIndex(length) || a + length > bytes.length || !(c == null || c === -1)) return undefined
  return bytes.subarray(a, a + length)
}

function outputOfMany([views, position]: readonly unknown[]): Output | undefined {
  const usable = Array.isArray(views) && views.every(each => each instanceof Uint8Array) && position == null
  return usable ? Buffer.concat(views) : undefined
}

function isIndex(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 0
}
