/** While lanes do not keep up, the queues before them are short. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import net from 'node:net'
import { describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { LaneBacklogs } from '../../src/server/connection/lane-backlogs.ts'
import type { Pace } from '../../src/server/connection/lane-pace.ts'
import { openLanes } from '../../src/server/connection/lanes.ts'
import { canShareAddresses, type ListenHandle } from '../../src/server/connection/listen-socket.ts'

const BACKLOG = 511

class FakeLane implements ListenHandle {
  backlog = BACKLOG
  listen(backlog: number): number {
    this.backlog = backlog
    return 0
  }
  close(): void {}
  ref(): void {}
  unref(): void {}
  hasRef(): boolean {
    return true
  }
  getsockname(): number {
    return 0
  }
}

function backlogs() {
  const main = new FakeLane()
  const lanes = [new FakeLane(), new FakeLane(), new FakeLane(), new FakeLane()]
  const next: { pace: Pace | undefined } = { pace: undefined }
  const following = new LaneBacklogs(main, lanes, BACKLOG, { accepted: () => next.pace })
  return {
    /** A window ends in which lanes were behind, or not. */
    window(behind: boolean, turns = 20): void {
      next.pace = { behind, turns }
      following.accepted()
    },
    lengths: () => [...new Set([main, ...lanes].map(lane => lane.backlog))],
  }
}

describe('the queues before lanes that fall behind', () => {
  it('are as long as what is accepted in a window, and have their length again when the lanes keep up for a second', () => {
    const { window, lengths } = backlogs()
    window(true)
    assert.deepEqual(lengths(), [20])
    for (let i = 0; i < 4; i++) window(false)
    assert.deepEqual(lengths(), [20])
    window(true)
    for (let i = 0; i < 5; i++) window(false)
    assert.deepEqual(lengths(), [BACKLOG])
  })

  it('hold two at least, and no more than was asked for', () => {
    const { window, lengths } = backlogs()
    window(true, 1)
    assert.deepEqual(lengths(), [2])
    window(true, 10_000)
    assert.deepEqual(lengths(), [BACKLOG])
  })

  it('lose nobody on a real server whose turns are long', { skip: !canShareAddresses() }, async () => {
    const server = net.createServer(socket => socket.on('error', () => {}))
    const notes: string[] = []
    const lanes = openLanes(server, { lanes: 3, onWarning: note => notes.push(note) })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    let ending = false
    const turn = (): void => {
      if (ending) return
      for (const until = performance.now() + 10; performance.now() < until; );
      setImmediate(turn)
    }
    const { port } = server.address() as net.AddressInfo
    const clients = Array.from({ length: 300 }, () => net.connect(port, '127.0.0.1').on('error', () => {}))
    turn()
    let accepted = 0
    await new Promise<void>(resolve => server.on('connection', () => void (++accepted === 300 && resolve())))
    ending = true
    await sleep(200)
    for (const client of clients) client.destroy()
    server.close()
    await once(server, 'close')
    assert.deepEqual(notes, [])
    assert.equal(lanes.count, 0)
  })
})
