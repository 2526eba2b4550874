/** Sockets that an app sends to another process, as socket.io's sticky primary does: they never emit 'close' here. */
import assert from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { type GatedService, eventually, Holding, startGated } from '../harness.ts'

let child: ChildProcess
before(async () => {
  child = fork(join(import.meta.dirname, 'receiver.fixture.ts'))
  await once(child, 'message')
})
after(() => child.disconnect())

/** Sends each socket away with its first data, after Node's parser has read that data. */
function handsOver(service: GatedService): void {
  service.server.on('connection', (socket: Socket) => {
    socket.on('data', () => {
      socket.pause()
      child.send('socket', socket)
    })
  })
}

describe('a socket that is sent to another process', () => {
  for (const [name, ...lines] of [
    ['request'],
    ['request for an upgrade that no listener accepts', 'Connection: Upgrade', 'Upgrade: websocket'],
  ] as const) {
    it(`may have a waiting ${name}`, async () => {
      const holding = new Holding()
      const service = await startGated(holding.handler)
      const first = (await service.connect()).get('/first')
      const { response } = await holding.take('/first')
      handsOver(service)
      const waiting = (await service.connect()).get('/waits', ...lines)
      assert.equal((await waiting.answer()).body, 'child')
      await service.connect()
      await eventually('the request waits no more', () => service.requestPath.stats().queued === 0)
      assert.equal(service.requestPath.stats().left, 1)
      response.end('first')
      assert.equal((await first.answer()).body, 'first')
      await eventually('the permit is back', () => service.requestPath.stats().inflight === 0)
      assert.deepEqual(holding.started, ['/first'])
    })
  }

  it('is forgotten once further connections are opened, and so is its request', async () => {
    const holding = new Holding()
    const service = await startGated(holding.handler, { limit: 1000 })
    const idle = await Promise.all(Array.from({ length: 10 }, () => service.connect()))
    handsOver(service)
    for (let i = 0; i < 60; i++) assert.equal((await (await service.connect()).get(`/${i}`).answer()).body, 'child')
    const { inService } = service.requestPath.processGate.permits
    const open = [...service.requestPath.connections.open].length
    assert.ok(open <= 30, `${open} connections are open`)
    assert.ok([...inService].length <= 20, `${[...inService].length} requests are in service`)
    for (const client of idle) client.destroy()
  })

  it('is forgotten, and so is its request for an upgrade that no listener accepts', async () => {
    const service = await startGated(() => undefined, { limit: 1000 })
    handsOver(service)
    for (let i = 0; i < 60; i++) {
      const client = (await service.connect()).get('/', 'Connection: Upgrade', 'Upgrade: websocket')
      assert.equal((await client.answer()).body, 'child')
    }
    const inService = [...service.requestPath.processGate.permits.inService].length
    assert.ok(inService <= 20, `${inService} requests are in service`)
  })

  it('is forgotten after its upgrade, too', async () => {
    const service = await startGated(() => undefined)
    service.server.on('upgrade', (_request, socket) => child.send('socket', socket as Socket))
    for (let i = 0; i < 20; i++) {
      const client = (await service.connect()).get('/', 'Connection: Upgrade', 'Upgrade: x')
      assert.equal((await client.answer()).body, 'child')
    }
    const { size } = service.requestPath.connections.upgraded
    assert.ok(size <= 5, `${size} sockets are upgraded`)
  })
})
