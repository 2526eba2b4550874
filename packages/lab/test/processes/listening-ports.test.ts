import assert from 'node:assert/strict'
import { once } from 'node:events'
import net from 'node:net'
import { test } from 'node:test'
import { listeningPorts, parseLsof, parseSocketTable } from '../../src/processes/listening-ports.ts'

const table = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:0BB8 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 111 1 0 100 0 0 10 0
   1: 00000000:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 222 1 0 100 0 0 10 0
   2: 0100007F:0BB8 0100007F:C350 01 00000000:00000000 00:00000000 00000000     0        0 333 1 0 20 4 30 10 -1
   3: 0202000A:0050 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 444 1 0 100 0 0 10 0
`
const table6 = `  sl  local_address                         remote_address                        st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000000000000000000000000000:0BB9 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 555 1 0 100 0 0 10 0
   1: 00000000000000000000000001000000:0BBA 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 666 1 0 100 0 0 10 0
`

test('parseSocketTable() returns listening sockets only, with an address at which they can be reached', () => {
  assert.deepEqual(parseSocketTable(table), [
    { port: 3000, host: '127.0.0.1', inode: '111' },
    { port: 8080, host: '127.0.0.1', inode: '222' },
    { port: 80, host: '10.0.2.2', inode: '444' },
  ])
  assert.deepEqual(parseSocketTable(table6), [
    { port: 3001, host: '127.0.0.1', inode: '555' },
    { port: 3002, host: '::1', inode: '666' },
  ])
})

test('parseLsof() reads the output of lsof on macOS', () => {
  assert.deepEqual(parseLsof('p501\nf22\nn*:3000\nf23\nn[::1]:3001\nn127.0.0.1:9229\n'), [
    { port: 3000, host: '127.0.0.1' },
    { port: 3001, host: '::1' },
    { port: 9229, host: '127.0.0.1' },
  ])
})

test('listeningPorts() finds a port of this process while it listens', async () => {
  const server = net.createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as net.AddressInfo
  const before = await listeningPorts(process.pid)
  assert.ok(before.some(each => each.port === port && each.host === '127.0.0.1'))
  server.close()
  await once(server, 'close')
  const after = await listeningPorts(process.pid)
  assert.ok(!after.some(each => each.port === port))
})
