/** The relay in front of a dependency, with real sockets. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import net from 'node:net'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Relay } from '../../src/launch/relay.ts'

describe('a relay', () => {
  const echo = net.createServer({ allowHalfOpen: true }, socket => {
    socket.on('error', () => {})
    socket.pipe(socket)
  })
  let relay: Relay
  before(async () => {
    await once(echo.listen(0, '127.0.0.1'), 'listening')
    relay = await Relay.open({ host: '127.0.0.1', port: (echo.address() as net.AddressInfo).port })
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

  test('counts its connections, and ends when a side has gone', async () => {
    const had = relay.accepted
    const socket = await connected()
    socket.resetAndDestroy()
    const other = await connected()
    assert.equal(await echoed(other, 'still here'), 'still here')
    assert.equal(relay.accepted, had + 2)
    other.destroy()
  })
})

test('a relay to a port on which nothing listens is refused', async () => {
  await assert.rejects(Relay.open({ host: '127.0.0.1', port: 1 }), { code: 'ECONNREFUSED' })
})
