/**
 * A port that swallows every connection, as a dead machine or a firewall does: the server listens with the smallest
 * backlog and never accepts. Connections of its own fill the backlog, so Linux drops every further SYN.
 *
 * The main thread listens and then blocks for ever; a worker thread holds the connections that fill the backlog.
 */
import net from 'node:net'
import { isMainThread, Worker, workerData } from 'node:worker_threads'

// A backlog of 1 holds two connections; Linux drops the SYNs of the other fillers.
const fillers = 6

if (isMainThread) {
  const server = net.createServer()
  server.listen({ port: Number(process.env.PORT), host: '127.0.0.1', backlog: 1 }, () => {
    const word = new Int32Array(new SharedArrayBuffer(4))
    new Worker(new URL(import.meta.url), { workerData: { port: server.address().port } }).once('online', () => {
      Atomics.wait(word, 0, 0)
    })
  })
} else {
  const held = Array.from({ length: fillers }, () => net.connect(workerData.port, '127.0.0.1').on('error', () => {}))
  // Keeps the connections from garbage collection until the process ends.
  setInterval(() => held.length, 60_000)
}
