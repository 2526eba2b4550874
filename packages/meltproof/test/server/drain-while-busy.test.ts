/**
 * A server that is always busy stops accepting. Clients that connected while the loop was busy, and are still in the
 * kernel, must not be reset.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { it } from 'node:test'
import { Worker } from 'node:worker_threads'
import { protect } from '../../src/index.ts'

/**
 * At each message, connects and sends a request while the server's thread is blocked. Reports how each request ended.
 */
const CLIENT = `
const net = require('node:net')
const { parentPort, workerData: { port, sent } } = require('node:worker_threads')
parentPort.on('message', () => {
  let received = ''
  const told = () => Atomics.notify(sent, 0, Atomics.add(sent, 0, 1) + 1)
  const socket = net.connect(port, '127.0.0.1', () => socket.write('GET /quick HTTP/1.1\\r\\nHost: test\\r\\n\\r\\n', told))
  socket.on('data', chunk => { received += chunk; if (received.includes('served')) socket.end() })
  socket.on('error', error => { if (error.code === 'ECONNREFUSED') told(); received ||= error.code })
  socket.on('close', () => parentPort.postMessage(received.includes('served') ? 'served' : received || 'closed'))
})`

/** The test fails after this many turns. A drain holds new requests after far fewer. */
const MOST_SLICES = 2000

it('a server whose event loop is always busy resets no connection when it stops accepting', async () => {
  const sent = new Int32Array(new SharedArrayBuffer(4))
  const fates: string[] = []
  let slices = 0
  const busy = { begins: (): void => undefined }
  const begun = new Promise<void>(resolve => (busy.begins = resolve))
  const server = http.createServer((request, response) => {
    if (request.url === '/quick') return void response.end('served')
    const slice = (): void => {
      // Ends when a request waits. The limit is never reached, so only the drain can make it wait.
      if (guard.stats().queued > 0 || !server.listening || slices === MOST_SLICES) return void response.end('long')
      const before = Atomics.load(sent, 0)
      slices++
      client.postMessage('')
      Atomics.wait(sent, 0, before, 10_000)
      setImmediate(slice)
    }
    busy.begins()
    slice()
  })
  const guard = protect(server, { lanes: 1, limit: 5000, drainDelayMs: 0 })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const client = new Worker(CLIENT, { eval: true, workerData: { port, sent } })
  client.on('message', fate => fates.push(fate))
  await once(client, 'online')
  const long = fetch(`http://127.0.0.1:${port}/long`).then(response => response.text())
  await begun
  const drained = guard.drain(60_000)
  assert.equal(await long, 'long')
  assert.equal(await drained, true)
  while (fates.length < slices) await once(client, 'message')
  await client.terminate()
  assert.ok(slices < MOST_SLICES, 'the server never stopped accepting')
  assert.deepEqual([...new Set(fates)], ['served'])
})
