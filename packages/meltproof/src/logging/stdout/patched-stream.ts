/** Redirects the writes of a stream to a BufferedWriter. For its callers the stream remains the same object. */
import type { Writable } from 'node:stream'
import type { BufferedWriter, Done } from './buffered-writer.ts'
import type { Output } from './line-ends.ts'
import { NO_CALLBACK } from './pending-writes.ts'
import { type Method, replaceMethod } from '../../replace-method.ts'

export interface StreamPatch {
  readonly writeOriginal: Method
  undo(): void
}

export function patchStream(stream: Writable, writer: BufferedWriter): StreamPatch {
  let writeOriginal!: Method
  let write!: Method

  const undoWrite = replaceMethod(stream, 'write', (original, isOn) => {
    writeOriginal = original
    write = (chunk, encoding, callback) => {
      const done = typeof encoding === 'function' ? encoding : callback
      const output = outputOf(chunk, typeof encoding === 'string' ? encoding : defaultEncoding(stream))
      const bad = output === undefined || (done !== undefined && typeof done !== 'function')
      // Node itself handles invalid arguments and writes after end().
      if (!isOn() || bad || stream.writableEnded || stream.destroyed) return original(chunk, encoding, callback)
      writer.write(output, (done as Done | undefined) ?? NO_CALLBACK)
      return !writer.full
    }
    return write
  })

  // Node's own end() would write its chunk without calling write().
  const undoEnd = replaceMethod(stream, 'end', (original, isOn) => (...args) => {
    if (!isOn()) return original(...args)
    const done = args.find(each => typeof each === 'function')
    const [chunk, encoding] = args
    if (chunk !== undefined && chunk !== null && chunk !== done) {
      write(chunk, encoding === done ? undefined : encoding)
    }
    const finish = (): unknown => (done === undefined ? original() : original(done))
    if (writer.idle) finish()
    else writer.write('', finish, true)
    return stream
  })

  const onNewListener = (name: unknown): void => {
    if (name === 'drain') writer.onDrainListener()
  }
  const onPipe = (): void => writer.onDrainListener()
  writer.streams.push(stream)
  stream.on('newListener', onNewListener).on('pipe', onPipe)
  Object.defineProperties(stream, {
    writableLength: { get: () => writer.bufferedBytes, configurable: true },
    writableNeedDrain: { get: () => writer.full, configurable: true },
  })

  return {
    writeOriginal,
    undo() {
      undoWrite()
      undoEnd()
      stream.removeListener('newListener', onNewListener).removeListener('pipe', onPipe)
      Reflect.deleteProperty(stream, 'writableLength')
      Reflect.deleteProperty(stream, 'writableNeedDrain')
    },
  }
}

function outputOf(chunk: unknown, encoding: string): Output | undefined {
  if (typeof chunk === 'string') {
    if (encoding === 'utf8' || encoding === 'utf-8') return chunk
    return Buffer.isEncoding(encoding) ? Buffer.from(chunk, encoding) : undefined
  }
  if (chunk instanceof Uint8Array) return chunk
  return ArrayBuffer.isView(chunk) ? new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength) : undefined
}

/** The value of setDefaultEncoding(), which no public property shows. */
function defaultEncoding(stream: Writable): string {
  const { _writableState: state } = stream as { _writableState?: { defaultEncoding?: string } }
  return state?.defaultEncoding ?? 'utf8'
}
