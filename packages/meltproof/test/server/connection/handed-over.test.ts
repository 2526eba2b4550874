/** Sockets that an app sends to another process, as socket.io's sticky primary does: they never emit 'close' here. */
import assert from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { type DoorHouse, eventually, Holding, openDoor } from '../harness.ts'

let child: ChildProcess
before(async () => {
  child = fork(join(import.meta.dirname, 'receiver.fixture.ts'))
  await once(child, 'message')
})
after(() => child.disconnect())

/** Sends each socket away with its first data, after Node's parser has read that data. */
function handsOver(house: DoorHouse): void {
  house.server.on('connection', (socket: Socket) => {
    socket.on('data', () => {
      socket.pause()
      child.send('socket', socket)
    })
  })
}

describe('a socket that is sent to another process', () => {
  it('may have a waiting request', async () => {
    const holding = new Holding()
    const house = await openDoor(holding.handler)
    const first = (await house.connect()).get('/first')
    const { response } = await holding.take('/first')
    handsOver(house)
    const waiting = (await house.connect()).get('/waits')
    assert.equal((await waiting.answer()).body, 'child')
    await house.connect()
    await eventually('the request waits no more', () => house.door.stats().queued === 0)
    assert.equal(house.door.stats().left, 1)
    response.end('first')
    assert.equal((await first.answer()).body, 'first')
    await eventually('the permit is back', () => house.door.stats().inflight === 0)
    assert.deepEqual(holding.started, ['/first'])
  })

  it('is forgotten once further connections are opened, and so is its request', async () => {
    const holding = new Holding()
    const house = await openDoor(holding.handler, { limit: 1000 })
    const idle = await Promise.all(Array.from({ length: 10 }, () => house.connect()))
    handsOver(house)
    for (let i = 0; i < 60; i++) assert.equal((await (await house.connect()).get(`/${i}`).answer()).body, 'child')
    const { inService } = house.door.gate.permits
    const open = [...house.door.connections.open].length
    assert.ok(open <= 30, `${open} connections are open`)
    assert.ok([...inService].length <= 20, `${[...inService].length} requests are in service`)
    for (const client of idle) client.destroy()
  })

  it('is forgotten after its upgrade, too', async () => {
    const house = await openDoor(() => undefined)
    house.server.on('upgrade', (_request, socket) => child.send('socket', socket as Socket))
    for (let i = 0; i < 20; i++) {
      const client = (await house.connect()).get('/', 'Connection: Upgrade', 'Upgrade: x')
      assert.equal((await client.answer()).body, 'child')
    }
    const { size } = house.door.connections.upgraded
    assert.ok(size <= 5, `${size} sockets are upgraded`)
  })
})
