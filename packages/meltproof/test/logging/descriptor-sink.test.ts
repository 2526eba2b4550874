/** The sink of a descriptor: what it opens and what it restores. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import fs from 'node:fs'
import net from 'node:net'
import { describe, it } from 'node:test'
import { descriptorSink, type Handle } from '../../src/logging/stdout/descriptor-sink.ts'
import { newFile, Pipe } from './child.ts'

describe('the sink of a descriptor', () => {
  it('never writes to its closed file descriptor, which may belong to another file', () => {
    const pipe = new Pipe()
    const sink = descriptorSink(pipe.writeFd, false, undefined)
    sink.write('before\n')
    sink.close()
    const path = newFile()
    const victims = [fs.openSync(path, 'w'), fs.openSync(path, 'a')]
    assert.equal(sink.write('after\n'), 6)
    sink.close()
    for (const victim of victims) fs.closeSync(victim)
    pipe.read()
    assert.equal(pipe.text, 'before\nafter\n')
    assert.equal(fs.readFileSync(path, 'utf8'), '')
  })

  const skip = fs.existsSync('/proc/self/fdinfo') ? false : 'needs /proc'
  it('restores the blocking mode of a socket after each write, and sets it to non-blocking on close', {
    skip,
  }, async () => {
    const server = net.createServer(socket => socket.pause()).listen(newFile())
    await once(server, 'listening')
    const socket = net.connect(server.address() as string)
    await once(socket, 'connect')
    const { _handle: handle } = socket as unknown as { _handle: Handle & { fd: number } }
    const blocks = (): boolean => {
      const [, flags] = /^flags:\s*(\d+)/m.exec(fs.readFileSync(`/proc/self/fdinfo/${handle.fd}`, 'utf8'))!
      return (Number.parseInt(flags!, 8) & fs.constants.O_NONBLOCK) === 0
    }
    const sink = descriptorSink(handle.fd, false, handle)
    try {
      for (const blocking of [false, true, false, true]) {
        handle.setBlocking!(blocking)
        assert.equal(sink.write('x\n'), 2)
        assert.equal(blocks(), blocking)
      }
      // The socket is full, so a blocking write would never return.
      while (sink.write('x'.repeat(4096)) > 0);
      assert.equal(blocks(), true)
      sink.close()
      assert.equal(blocks(), false)
    } finally {
      socket.destroy()
      server.close()
    }
  })
})
