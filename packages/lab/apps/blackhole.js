/**
 * A port that swallows every connection: it listens with the smallest backlog and never accepts, and the backlog is
 * filled by itself, so that Linux drops every further SYN, as a dead machine or a firewall does.
 *
 * The main thread listens and then stands still for ever; a worker thread holds the fillers.
 */
import net from 'node:net'
import { isMainThread, Worker, workerData } from 'node:worker_threads'

// A backlog of 1 holds two; what is beyond stays half open for ever.
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
  // Keeps them from being collected; ends with the process.
  setInterval(() => held.length, 60_000)
}
