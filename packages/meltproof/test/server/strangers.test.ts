/** Others who join the port on which our lanes listen. */
import assert from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import net, { type AddressInfo, type ListenOptions } from 'node:net'
import { after, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { openLanes } from '../../src/server/lanes.ts'
import { canShareAddresses } from '../../src/server/listen-socket.ts'
import { type PortListener, parseListeners } from '../../src/server/port-listeners.ts'
import { findStranger } from '../../src/server/strangers.ts'
import { eventually } from './harness.ts'

const fixture = fileURLToPath(new URL('./lanes.fixture.ts', import.meta.url))
const onLinux = process.platform === 'linux' && canShareAddresses()
const children = new Set<ChildProcess>()
const servers = new Set<net.Server>()
after(() => {
  for (const child of children) child.kill('SIGKILL')
  for (const server of servers) server.close()
})

const LOOK_MS = 20
/** Of ours that looks often, in which a stranger would have been seen. */
const LONG_ENOUGH_MS = 20 * LOOK_MS

async function ours(options: ListenOptions): Promise<{ notes: string[]; port: number; server: net.Server }> {
  const server = net.createServer(socket => socket.destroy())
  servers.add(server)
  const notes: string[] = []
  openLanes(server, { lanes: 4, onNote: note => notes.push(note), lookEveryMs: LOOK_MS })
  await once(server.listen(options), 'listening')
  return { notes, port: (server.address() as AddressInfo).port, server }
}

/** A process that joins; answers its id, or the code of its error. */
async function stranger(options: ListenOptions, lanes = 1): Promise<{ pid?: number; code?: string }> {
  const child = fork(fixture, ['stranger', 'plain', JSON.stringify({ options, lanes })])
  children.add(child)
  const [said] = (await once(child, 'message')) as [{ pid?: number; code?: string }]
  return said
}

describe('a process that joins our port with reusePort', { skip: !onLinux }, () => {
  for (const [what, host, joined] of [
    ['at our address', '127.0.0.1', '127.0.0.1'],
    ['at all addresses', '127.0.0.1', '0.0.0.0'],
    ['at one of ours', '0.0.0.0', '127.0.0.1'],
    ['by IPv4 where we take both', '::', '0.0.0.0'],
  ] as const) {
    it(`is told of once, with its id: ${what}`, async () => {
      const { notes, port } = await ours({ port: 0, host })
      const { pid } = await stranger({ port, host: joined, reusePort: true })
      assert.ok(pid)
      await eventually('it is told', () => notes.length > 0)
      assert.match(notes[0]!, new RegExp(`^process ${pid} listens on port ${port} as well \\(SO_REUSEPORT\\)`))
      await stranger({ port, host: joined, reusePort: true })
      await sleep(LONG_ENOUGH_MS)
      assert.equal(notes.length, 1)
    })
  }

  it('is no stranger where the operator asked for sharing', async () => {
    const { notes, port } = await ours({ port: 0, host: '127.0.0.1', reusePort: true })
    assert.ok((await stranger({ port, host: '127.0.0.1', reusePort: true }, 4)).pid)
    await sleep(LONG_ENOUGH_MS)
    assert.deepEqual(notes, [])
  })

  it('is no stranger at another address, at another port, or where ours takes IPv6 alone', async () => {
    const one = await ours({ port: 0, host: '127.0.0.1' })
    assert.ok((await stranger({ port: one.port, host: '127.0.0.2', reusePort: true })).pid)
    assert.ok((await stranger({ port: 0, host: '127.0.0.1', reusePort: true })).pid)
    const six = await ours({ port: 0, host: '::', ipv6Only: true })
    assert.ok((await stranger({ port: six.port, host: '0.0.0.0', reusePort: true })).pid)
    await sleep(LONG_ENOUGH_MS)
    assert.deepEqual([...one.notes, ...six.notes], [])
  })

  it('is not looked for after close()', async () => {
    const { notes, port, server } = await ours({ port: 0, host: '127.0.0.1' })
    server.close()
    await once(server, 'close')
    assert.ok((await stranger({ port, host: '127.0.0.1' })).pid)
    await sleep(LONG_ENOUGH_MS)
    assert.deepEqual(notes, [])
  })
})

const TABLE = [
  '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode',
  '   0: 0100007F:0BB8 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 11 1 0 100 0 0 10 0',
  '   1: 00000000:0BB9 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 12 1 0 100 0 0 10 0',
  '   2: 00000000:0BB8 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 13 1 0 100 0 0 10 0',
  '   3: 0100007F:0BB8 0100007F:9999 01 00000000:00000000 00:00000000 00000000     0        0 14 1 0 20 4 30 10 -1',
]

it('the listening sockets of a port are read, and nothing behind them', () => {
  const [found, more] = parseListeners(TABLE, 4, 3000)
  assert.deepEqual(found, [
    { inode: '11', family: 4, address: '0100007F' },
    { inode: '13', family: 4, address: '00000000' },
  ] satisfies PortListener[])
  assert.equal(more, false)
  assert.deepEqual(parseListeners(TABLE.slice(0, 2), 4, 3001), [[], true])
  assert.deepEqual(parseListeners(['', 'nonsense'], 4, 3000), [[], true])
  assert.equal(findStranger(found, new Set(['11']), true)?.inode, '13')
  assert.equal(findStranger(found, new Set(['11', '13']), true), undefined)
  assert.equal(findStranger(found, new Set(), true), undefined)
})
