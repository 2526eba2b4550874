/** While lanes cannot keep up, their accept queues are short. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import net from 'node:net'
import { describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { adaptBacklogs } from '../../../src/server/connection/lane-backlogs.ts'
import { openLanes } from '../../../src/server/connection/lanes.ts'
import { canShareAddresses, type ListenHandle } from '../../../src/server/connection/listen-socket.ts'

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

/** Runs turns of 10 ms, in each of which `acceptedIn(turn)` of 32 lanes accept. Returns the backlog after each turn. */
function lengths(
  acceptedIn: (turn: number) => number,
  turns: number,
  { turnMs = 10, main = new FakeLane() } = {},
): number[] {
  let turn = 1
  const lanes = Array.from({ length: 32 }, () => new FakeLane())
  const accepted = adaptBacklogs(
    main,
    lanes,
    BACKLOG,
    () => turn * turnMs,
    () => turn,
  )
  const seen: number[] = []
  for (; turn <= turns; turn++) {
    for (let i = 0; i < acceptedIn(turn); i++) accepted()
    const all = new Set([main, ...lanes].map(lane => lane.backlog))
    assert.equal(all.size, 1)
    seen.push(main.backlog)
  }
  return seen
}

describe('accept queues of lanes', () => {
  it('shrink to what is accepted in 200 ms while every lane accepts in every turn of the loop', () => {
    const last = lengths(() => 32, 200).at(-1)!
    assert.ok(last >= 20 && last < 30, `${last}`)
  })

  it('are long again a second later, even without new connections', { timeout: 60_000 }, async () => {
    const began = performance.now()
    const main = new FakeLane()
    const last = lengths(() => 32, 50, { main }).at(-1)!
    assert.ok(last < 30, `${last}`)
    while (main.backlog !== BACKLOG) await sleep(50)
    assert.ok(performance.now() - began > 900)
  })

  it('keep their length if a third of the lanes accept nothing in a turn, or if full and empty turns alternate', () => {
    assert.ok(lengths(() => 20, 200).every(length => length === BACKLOG))
    assert.ok(lengths(turn => (turn % 2 === 0 ? 32 : 0), 200).every(length => length === BACKLOG))
  })

  it('never shrink below two', () => {
    assert.equal(lengths(() => 32, 20, { turnMs: 300 }).at(-1), 2)
  })

  it('keep their length where Node does not number the turns of its loop', () => {
    let ms = 0
    const main = new FakeLane()
    const accepted = adaptBacklogs(
      main,
      [new FakeLane()],
      BACKLOG,
      () => ms,
      () => Number.NaN,
    )
    for (; ms < 10_000; ms++) accepted()
    assert.equal(main.backlog, BACKLOG)
  })

  it('lose no connection on a real server with long turns of the loop', { skip: !canShareAddresses() }, async () => {
    const server = net.createServer(socket => socket.on('error', () => {}))
    const warnings: string[] = []
    const lanes = openLanes(server, 3, warning => warnings.push(warning))
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
    assert.deepEqual(warnings, [])
    assert.equal(lanes.count, 0)
  })
})
