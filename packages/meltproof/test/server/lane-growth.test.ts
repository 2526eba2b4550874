/** Lanes that do not keep up become more, or their queues shorter. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import net from 'node:net'
import { describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { LaneGrowth } from '../../src/server/lane-growth.ts'
import type { Pace } from '../../src/server/lane-pace.ts'
import { openLanes } from '../../src/server/lanes.ts'
import { canShareAddresses, type ListenHandle } from '../../src/server/listen-socket.ts'

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

function growth(options: { mayGrow: boolean; mayOpen?: number }) {
  let left = options.mayOpen ?? Number.POSITIVE_INFINITY
  const main = new FakeLane()
  const lanes: FakeLane[] = [new FakeLane(), new FakeLane(), new FakeLane(), new FakeLane()]
  const next: { pace: Pace | undefined } = { pace: undefined }
  const open = (): FakeLane | undefined => (left-- > 0 ? new FakeLane() : undefined)
  const growing = new LaneGrowth(
    { main, lanes, backlog: BACKLOG, open, mayGrow: () => options.mayGrow },
    { accepted: () => next.pace },
  )
  return {
    lanes,
    /** A window ends in which lanes were behind, or not. */
    window(behind: boolean): void {
      next.pace = { behind, turns: 20 }
      growing.accepted()
    },
    backlogs: () => new Set([main, ...lanes].map(lane => lane.backlog)),
  }
}

describe('lanes that fall behind', () => {
  it('become twice as many, up to four times', () => {
    const { lanes, window, backlogs } = growth({ mayGrow: true })
    const counts = [1, 2, 3].map(() => {
      window(true)
      return lanes.length
    })
    assert.deepEqual(counts, [8, 16, 16])
    assert.deepEqual([...backlogs()], [20])
  })

  it('get short queues where there is no time to turn more away, and long ones when they have kept up for a second', () => {
    const { lanes, window, backlogs } = growth({ mayGrow: false })
    window(true)
    assert.equal(lanes.length, 4)
    assert.deepEqual([...backlogs()], [20])
    for (let i = 0; i < 4; i++) window(false)
    assert.deepEqual([...backlogs()], [20])
    window(true)
    for (let i = 0; i < 5; i++) window(false)
    assert.deepEqual([...backlogs()], [BACKLOG])
  })

  it('get short queues where no more can be opened', () => {
    const { lanes, window, backlogs } = growth({ mayGrow: true, mayOpen: 0 })
    window(true)
    assert.equal(lanes.length, 4)
    assert.deepEqual([...backlogs()], [20])
  })

  for (const mayGrow of [true, false]) {
    const what = mayGrow ? 'become more' : 'get shorter queues and lose nobody'
    it(`${what} on a real server whose turns are long`, { skip: !canShareAddresses() }, async () => {
      const server = net.createServer(socket => socket.on('error', () => {}))
      const notes: string[] = []
      const onNote = (note: string): void => void notes.push(note)
      const lanes = openLanes(server, { lanes: 3, mayGrow: () => mayGrow, onNote, lookEveryMs: 20 })
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
      const { count } = lanes
      await sleep(200)
      for (const client of clients) client.destroy()
      server.close()
      await once(server, 'close')
      assert.equal(count > 3, mayGrow, `${count} lanes`)
      assert.ok(count <= 9, `${count} lanes`)
      assert.deepEqual(notes, [], 'ours are no strangers on the port')
      assert.equal(lanes.count, 0)
    })
  }
})
