/** The fuzz run reads from the kernel whether an unanswered connection was accepted. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import net, { type AddressInfo } from 'node:net'
import { after, describe, it } from 'node:test'
import { isAccepted } from '../../fuzz/listen-overflows.ts'

const options = process.platform === 'linux' ? {} : { skip: '/proc/net/tcp is of Linux' }

describe('isAccepted()', options, () => {
  const server = net.createServer(() => undefined)
  const sockets: net.Socket[] = []
  after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })

  it('is true for a connection that the server has accepted', async () => {
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const socket = net.connect(port, '127.0.0.1')
    sockets.push(socket)
    const [accepted] = (await once(server, 'connection')) as [net.Socket]
    sockets.push(accepted)
    assert.equal(isAccepted(port, accepted.remotePort), true)
  })

  it('is false for a client port without a connection, and undefined without a client port', () => {
    const { port } = server.address() as AddressInfo
    assert.equal(isAccepted(port, 1), false)
    assert.equal(isAccepted(port, undefined), undefined)
  })
})
