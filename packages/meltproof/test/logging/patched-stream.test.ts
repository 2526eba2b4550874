/** A stream that writes through a buffered writer still behaves like a Writable. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { PassThrough, pipeline, Readable } from 'node:stream'
import { after, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { BufferedWriter } from '../../src/logging/stdout/buffered-writer.ts'
import { patchStream } from '../../src/logging/stdout/patched-stream.ts'

/** A writer keeps the process alive only for some writes. These tests need it for all. */
const awake = setInterval(() => undefined, 1000)
after(() => clearInterval(awake))

/** A stream whose kernel accepts `room` more bytes. */
function make({ room = 0, bufferBytes = 1_000_000 } = {}) {
  const kernel = { room, text: '', bytes: Buffer.alloc(0), error: undefined as string | undefined, writes: 0 }
  const stream = new PassThrough()
  const failures: Error[] = []
  stream.on('error', error => failures.push(error))
  const writer = new BufferedWriter(
    {
      batchBytes: 4096,
      takesAll: false,
      write(data) {
        kernel.writes++
        if (kernel.error !== undefined) throw Object.assign(new Error(kernel.error), { code: kernel.error })
        const bytes = Buffer.from(data)
        const taken = Math.min(kernel.room, bytes.length)
        kernel.room -= taken
        kernel.text += bytes.subarray(0, taken).toString()
        kernel.bytes = Buffer.concat([kernel.bytes, bytes.subarray(0, taken)])
        return taken
      },
      close: () => undefined,
    },
    { bufferBytes },
    {
      waits: () => undefined,
      trouble: () => undefined,
      lost: () => undefined,
    },
  )
  const patch = patchStream(stream, writer)
  return { kernel, stream, writer, patch, failures }
}

describe('a stream with a buffered writer', () => {
  it('writes synchronously what the kernel accepts', () => {
    const { kernel, stream } = make({ room: 100 })
    assert.equal(stream.write('now\n'), true)
    assert.equal(kernel.text, 'now\n')
  })

  it('returns false above its highWaterMark, and emits drain when the backlog is gone', async () => {
    const { kernel, stream } = make()
    let writes = 0
    while (stream.write(`${'x'.repeat(99)}\n`)) writes++
    assert.ok(writes > 20 && writes < 200, `${writes}`)
    assert.equal(stream.writableNeedDrain, true)
    assert.ok(stream.writableLength >= 16_384)
    kernel.room = 1_000_000
    await once(stream, 'drain')
    assert.equal(stream.writableNeedDrain, false)
    assert.equal(kernel.text.length, (writes + 1) * 100)
  })

  it('loses nothing of a writer that waits for drain, however slow the kernel', async () => {
    const lines = Array.from({ length: 5000 }, (_, i) => `line ${i} ${'y'.repeat(50)}\n`)
    for (const chunks of [lines, [lines.join('')]]) {
      const { kernel, stream, writer } = make({ bufferBytes: 65_536 })
      const feed = setInterval(() => {
        kernel.room += 20_000
      }, 1)
      await promisify(pipeline)(Readable.from(chunks), stream)
      clearInterval(feed)
      assert.equal(kernel.text, lines.join(''))
      assert.equal(writer.stats.lost, 0)
    }
  })

  it('calls the callback of each write once, in order, after it is written and never synchronously', async () => {
    const { kernel, stream } = make({ room: 2 })
    const called: number[] = []
    stream.write('a\n', () => called.push(1))
    stream.write('b\n', 'utf8', () => called.push(2))
    stream.write('', () => called.push(3))
    assert.deepEqual(called, [])
    await sleep(10)
    assert.deepEqual(called, [1])
    kernel.room = 100
    await sleep(100)
    assert.deepEqual(called, [1, 2, 3])
    assert.equal(kernel.text, 'a\nb\n')
  })

  it('calls the other callbacks when one throws', async () => {
    const { stream } = make({ room: 100 })
    const called: number[] = []
    // The test runner's listener would fail this test because of the error.
    const listeners = process.listeners('uncaughtException')
    process.removeAllListeners('uncaughtException')
    process.once('uncaughtException', () => called.push(0))
    stream.write('a\n', () => {
      throw new Error('mine')
    })
    stream.write('b\n', () => called.push(2))
    await sleep(20)
    for (const listener of listeners) process.on('uncaughtException', listener)
    assert.deepEqual(called, [0, 2])
  })

  it('keeps encodings, binary data and characters that the kernel accepts in halves', async () => {
    const { kernel, stream, writer } = make()
    stream.write('68c3a9', 'hex')
    stream.write('aGk=', 'base64')
    stream.write(new Uint8Array([0x21]))
    stream.write(new DataView(new Uint8Array([1, 0x3f, 2]).buffer, 1, 1) as never)
    stream.write('\u20ac')
    stream.setDefaultEncoding('latin1')
    stream.write('\u00e9\n')
    while (!writer.idle) {
      kernel.room = 1
      writer.flush()
    }
    assert.equal(kernel.bytes.toString('hex'), `${Buffer.from('h\u00e9hi!?\u20ac').toString('hex')}e90a`)
  })

  it('copies a buffer that its caller reuses', async () => {
    const { kernel, stream } = make()
    const buffer = Buffer.from('first\n')
    stream.write(buffer)
    buffer.fill('x')
    kernel.room = 100
    await sleep(60)
    assert.equal(kernel.text, 'first\n')
  })

  it('throws the errors of Node for bad arguments', () => {
    const { stream } = make({ room: 100 })
    const plain = new PassThrough()
    for (const bad of [[null], [undefined], [5], [{}], ['x', 'no-such-encoding']]) {
      const code = (target: PassThrough): string => {
        try {
          Reflect.apply(target.write, target, bad)
          return 'nothing'
        } catch (error) {
          return (error as NodeJS.ErrnoException).code!
        }
      }
      assert.equal(code(stream), code(plain), JSON.stringify(bad))
    }
  })

  it('finishes end() after pending data, including its own chunk', async () => {
    const { kernel, stream } = make()
    stream.write('a\n')
    stream.end('b\n')
    stream.resume()
    kernel.room = 100
    await once(stream, 'finish')
    assert.equal(kernel.text, 'a\nb\n')
  })

  it('emits an error once, keeps lines while there is room, and writes them when it is over', async () => {
    const { kernel, stream, failures, writer } = make({ bufferBytes: 65_536 })
    kernel.error = 'ENOSPC'
    const errors: (Error | null | undefined)[] = []
    for (let i = 0; i < 1000; i++) stream.write(`line ${i} ${'x'.repeat(40)}\n`, error => errors.push(error))
    await sleep(10)
    assert.equal(failures.length, 1)
    assert.ok(kernel.writes < 5, 'what fails is not tried for every line')
    assert.equal(errors.length, writer.stats.lost)
    assert.equal((errors[0] as NodeJS.ErrnoException).code, 'ENOSPC')
    kernel.error = undefined
    kernel.room = 1_000_000
    writer.flush()
    assert.match(kernel.text, /^line 0 x+\n[\s\S]*meltproof: \d+ lines lost here/)
    assert.equal(writer.stats.written + writer.stats.lost, 1000)
  })

  it('keeps as much of a write larger than the buffer as fits, if its highWaterMark was reached before', () => {
    const { kernel, stream, writer } = make({ bufferBytes: 100_000 })
    assert.equal(stream.write(`${'w'.repeat(99)}\n`.repeat(200)), false)
    stream.write(`${'x'.repeat(99)}\n`.repeat(10_000))
    const { waiting, lost, bufferedBytes } = writer.stats
    assert.ok(waiting > 600 && waiting < 1000, `${waiting}`)
    assert.equal(waiting + lost, 10_200)
    assert.ok(bufferedBytes < 100_000)
    kernel.room = 1_000_000
    writer.flush()
    assert.equal(kernel.text.match(/^[wx]+$/gm)!.length, waiting)
  })

  it('accepts a write larger than the buffer whole, and later writes once there is room again', async () => {
    const { kernel, stream, writer } = make({ bufferBytes: 100_000 })
    const report = `${'x'.repeat(99)}\n`.repeat(10_000)
    const written = new Promise(resolve => stream.write(report, resolve))
    const flushed = new Promise(resolve => stream.write('', resolve))
    stream.write('next\n')
    assert.partialDeepStrictEqual(writer.stats, { waiting: 10_000, lost: 1 })
    kernel.room = report.length - 1
    writer.flush(Number.POSITIVE_INFINITY)
    assert.equal(kernel.text, report.slice(0, -1))
    assert.equal(await Promise.race([written, flushed, sleep(20, 'waits')]), 'waits')
    kernel.room = 1_000_000
    assert.deepEqual(await Promise.all([written, flushed]), [null, null])
    stream.end('after\n')
    stream.resume()
    await once(stream, 'finish')
    assert.match(kernel.text.slice(report.length), /^meltproof: 1 line lost here[^\n]+\nafter\n$/)
  })

  it('finishes end() after a chunk larger than the buffer', async () => {
    const { kernel, stream } = make({ bufferBytes: 65_536 })
    const report = `${'x'.repeat(99)}\n`.repeat(10_000)
    stream.end(report)
    stream.resume()
    assert.equal(await Promise.race([once(stream, 'finish'), sleep(20, 'waits')]), 'waits')
    kernel.room = 2_000_000
    await once(stream, 'finish')
    assert.equal(kernel.text, report)
  })

  it('undo() restores the stream', () => {
    const { kernel, stream, patch } = make({ room: 100 })
    patch.undo()
    assert.equal(Object.hasOwn(stream, 'write'), false)
    stream.write('x\n')
    assert.equal(kernel.text, '')
    assert.equal(stream.read()?.toString(), 'x\n')
  })

  it('undo() leaves a write() in place that other code put in front', () => {
    const { stream, patch } = make({ room: 100 })
    const theirs = (): boolean => true
    stream.write = theirs
    patch.undo()
    assert.equal(stream.write, theirs)
  })

  it('after undo(), a kept write() or end() is passed on to the original', async () => {
    const { kernel, stream, patch } = make({ room: 100 })
    const write = stream.write.bind(stream)
    const end = stream.end.bind(stream)
    patch.undo()
    await new Promise<void>(resolve => write('a\n', () => resolve()))
    end('b\n')
    assert.equal(kernel.text, '')
    let through = ''
    for (let chunk = stream.read(); chunk !== null; chunk = stream.read()) through += chunk.toString()
    assert.equal(through, 'a\nb\n')
    assert.equal(stream.listenerCount('newListener') + stream.listenerCount('pipe'), 0)
  })

  it('writes its notices as JSON if the lines are JSON', () => {
    const { kernel, stream, writer } = make({ bufferBytes: 65_536 })
    for (let i = 0; i < 2000; i++) stream.write(`${JSON.stringify({ i })}\n`)
    kernel.room = 1_000_000
    writer.flush()
    const notice = kernel.text.split('\n').find(line => line.includes('meltproof'))!
    const { level, msg, lost } = JSON.parse(notice) as { level: number; msg: string; lost: number }
    assert.equal(level, 40)
    assert.equal(lost, writer.stats.lost)
    assert.match(msg, /^meltproof: \d+ lines lost here/)
  })
})
