/** The relay in front of a dependency, with real sockets. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import net from 'node:net'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Relay } from '../../src/launch/relay.ts'

const { signal } = new AbortController()

describe('a relay', () => {
  const echo = net.createServer({ allowHalfOpen: true }, socket => {
    socket.on('error', () => {})
    socket.pipe(socket)
  })
  let relay: Relay
  before(async () => {
    await once(echo.listen(0, '127.0.0.1'), 'listening')
    relay = await Relay.open({ host: '127.0.0.1', port: (echo.address() as net.AddressInfo).port }, signal)
  })
  after(async () => {
    await relay.close()
    echo.close()
  })

  const connected = async (): Promise<net.Socket> => {
    const socket = net.connect({ port: relay.port, host: '127.0.0.1', allowHalfOpen: true })
    await once(socket, 'connect')
    return socket
  }
  const echoed = async (socket: net.Socket, text: string): Promise<string> => {
    socket.write(text)
    const [chunk] = await once(socket, 'data')
    return String(chunk)
  }

  test('passes bytes on both ways, and the end of each', async () => {
    const socket = await connected()
    assert.equal(await echoed(socket, 'one'), 'one')
    socket.end()
    socket.resume()
    await once(socket, 'close')
  })

  test('passes on much more than buffers hold', async () => {
    const socket = await connected()
    const sent = Buffer.alloc(8 << 20, 'x')
    let got = 0
    socket.on('data', (chunk: Buffer) => (got += chunk.length))
    socket.end(sent)
    await once(socket, 'end')
    assert.equal(got, sent.length)
  })

  test('holds back what old and new connections send, and loses nothing of it', async () => {
    const old = await connected()
    assert.equal(await echoed(old, 'before'), 'before')
    relay.hold()
    const fresh = await connected()
    const answers = Promise.all([echoed(old, 'old'), echoed(fresh, 'new')])
    const first = await Promise.race([answers, sleep(100, 'silent')])
    relay.release()
    assert.equal(first, 'silent')
    assert.deepEqual(await answers, ['old', 'new'])
    old.destroy()
    fresh.destroy()
  })

  test('counts its connections and what it passes on, both ways', async () => {
    const [accepted, passed] = [relay.accepted, relay.passedBytes]
    const socket = await connected()
    await echoed(socket, 'four')
    assert.deepEqual([relay.accepted - accepted, relay.passedBytes - passed], [1, 8])
    socket.destroy()
  })

  test('ends a connection whose other side has gone, also during a silence', async () => {
    const atDependency = (): Promise<[net.Socket]> => once(echo, 'connection') as Promise<[net.Socket]>
    for (const isHeld of [false, true]) {
      const [socket, [there]] = await Promise.all([connected(), atDependency()])
      assert.equal(await echoed(socket, 'here'), 'here')
      if (isHeld) relay.hold()
      const ended = once(there, 'close')
      socket.resetAndDestroy()
      if (isHeld) relay.release()
      await ended
    }
    const [socket, [there]] = await Promise.all([connected(), atDependency()])
    const ended = once(socket, 'close')
    socket.on('error', () => {})
    there.destroy()
    socket.resume().end()
    await ended
  })

  test('does not connect to the dependency while it is silent', async () => {
    let seen = 0
    const count = (): void => void seen++
    echo.on('connection', count)
    relay.hold()
    const socket = await connected()
    await sleep(50)
    const before = seen
    relay.release()
    assert.equal(await echoed(socket, 'late'), 'late')
    echo.off('connection', count)
    assert.deepEqual([before, seen], [0, 1])
    socket.destroy()
  })
})

test('a relay closes during a silence, with all its connections', async () => {
  const server = net.createServer(socket => socket.on('error', () => {}))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const relay = await Relay.open({ host: '127.0.0.1', port: (server.address() as net.AddressInfo).port }, signal)
  const old = net.connect(relay.port, '127.0.0.1')
  await once(server, 'connection')
  relay.hold()
  const fresh = net.connect(relay.port, '127.0.0.1')
  const gone = [old, fresh].map(socket =>
    once(
      socket.on('error', () => {}),
      'close',
    ),
  )
  await once(fresh, 'connect')
  await relay.close()
  await Promise.all(gone)
  server.close()
})

test('a relay to a port on which nothing listens is refused', async () => {
  await assert.rejects(Relay.open({ host: '127.0.0.1', port: 1 }, signal), { code: 'ECONNREFUSED' })
  await assert.rejects(Relay.open({ host: '127.0.0.1', port: 1 }, AbortSignal.abort()), { name: 'AbortError' })
})
