/**
 * Puts an outlet behind a stream object that others hold already: process.stdout and process.stderr stay the objects
 * they are, with their colours, columns and cursor, and only where their bytes go changes. What callers see of a
 * Writable stays: the value of write(), 'drain', callbacks, encodings, the errors for bad arguments.
 */
import type { Writable } from 'node:stream'
import type { Done, Outlet } from './buffered-writer.ts'
import { UNHEARD } from './pending-writes.ts'

type Encoding = BufferEncoding

export interface Patch {
  /**
   * Gives the stream its own methods back, unless somebody has replaced ours since. Ours, which a wrapper or a bound
   * copy may still call, pass on to them.
   */
  undo(): void
  /** The stream's own write(). */
  writeOriginal(bytes: Uint8Array): void
}

type Behind = Pick<Outlet, 'write' | 'full' | 'used' | 'idle' | 'heeded'>

export function patchStream(stream: Writable, outlet: Behind): Patch {
  const originalWrite = stream.write
  const originalEnd = stream.end
  let on = true

  const write = function (this: Writable, chunk: unknown, encoding?: unknown, callback?: unknown): boolean {
    if (!on) return Reflect.apply(originalWrite, stream, [chunk, encoding, callback]) as boolean
    const done = typeof encoding === 'function' ? encoding : callback
    const given = typeof encoding === 'string' ? encoding : defaultEncoding(stream)
    const data = bytesOf(chunk, given)
    // What is wrong (a null, an unknown encoding, a write after end) gets Node's own answer.
    if (data === undefined || stream.writableEnded || stream.destroyed || (done !== undefined && !isFunction(done))) {
      return Reflect.apply(originalWrite, stream, [chunk, encoding, callback]) as boolean
    }
    outlet.write(data, (done as Done | undefined) ?? UNHEARD)
    return !outlet.full
  } as Writable['write']

  // Node's own end() writes its chunk past write().
  const end = function (this: Writable, chunk?: unknown, encoding?: unknown, callback?: unknown): Writable {
    if (!on) return Reflect.apply(originalEnd, stream, [chunk, encoding, callback]) as Writable
    const done = [chunk, encoding, callback].find(isFunction) as (() => void) | undefined
    const finish = (): void => void Reflect.apply(originalEnd, stream, done === undefined ? [] : [done])
    if (chunk !== undefined && chunk !== null && !isFunction(chunk)) {
      Reflect.apply(write, stream, isFunction(encoding) ? [chunk] : [chunk, encoding])
    }
    if (outlet.idle) finish()
    else outlet.write('', finish)
    return stream
  } as Writable['end']

  const onNewListener = (name: unknown): void => {
    if (name === 'drain') outlet.heeded('drain')
  }
  const onPipe = (): void => outlet.heeded('pipe')
  stream.on('newListener', onNewListener).on('pipe', onPipe)
  define('write', { value: write })
  define('end', { value: end })
  define('writableLength', { get: () => outlet.used })
  define('writableNeedDrain', { get: () => outlet.full })

  function define(name: string, property: PropertyDescriptor): void {
    const accessor = property.get !== undefined
    Object.defineProperty(stream, name, {
      ...property,
      configurable: true,
      enumerable: false,
      ...(accessor ? {} : { writable: true }),
    })
  }

  return {
    undo() {
      on = false
      stream.removeListener('newListener', onNewListener).removeListener('pipe', onPipe)
      const mine: Record<string, unknown> = stream as never
      if (mine['write'] === write) delete mine['write']
      if (mine['end'] === end) delete mine['end']
      delete mine['writableLength']
      delete mine['writableNeedDrain']
      if (mine['write'] !== originalWrite && !Object.hasOwn(stream, 'write')) stream.write = originalWrite
      if (mine['end'] !== originalEnd && !Object.hasOwn(stream, 'end')) stream.end = originalEnd
    },
    writeOriginal(bytes) {
      Reflect.apply(originalWrite, stream, [bytes])
    },
  }
}

function bytesOf(chunk: unknown, encoding: string): string | Uint8Array | undefined {
  if (typeof chunk === 'string') {
    if (encoding === 'utf8' || encoding === 'utf-8') return chunk
    return Buffer.isEncoding(encoding) ? Buffer.from(chunk, encoding as Encoding) : undefined
  }
  if (chunk instanceof Uint8Array) return chunk
  return ArrayBuffer.isView(chunk) ? new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength) : undefined
}

/** As set with setDefaultEncoding(), which keeps it where no public property shows it. */
function defaultEncoding(stream: Writable): string {
  const { _writableState: state } = stream as { _writableState?: { defaultEncoding?: string } }
  return state?.defaultEncoding ?? 'utf8'
}

function isFunction(value: unknown): boolean {
  return typeof value === 'function'
}
