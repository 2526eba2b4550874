/**
 * The other end for bench/verdicts.ts, in a process of its own so that no stall of the measured one touches it: a
 * dependency that takes as long as it is told, a slow way to it, and the client that sends the injections.
 */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import http from 'node:http'
import net, { type AddressInfo } from 'node:net'

export interface Peer {
  /** The dependency: `/took/MS?claims=1`. Its answer says in `x-took` how long it really took, ms. */
  readonly port: number
  /** The same behind a way on which each request travels `delay` ms longer; see {@link Peer.slow}. */
  readonly wayPort: number
  slow(delayMs: number): Promise<void>
  /** Sends one request to the measured process and waits for its answer. */
  ask(url: string): Promise<void>
  stop(): void
}

export async function startPeer(): Promise<Peer> {
  const child: ChildProcess = fork(import.meta.filename, ['peer'])
  const [{ port, wayPort }] = (await once(child, 'message')) as [{ port: number; wayPort: number }]
  const tell = async (message: object): Promise<void> => {
    child.send(message)
    await once(child, 'message')
  }
  return {
    port,
    wayPort,
    slow: delayMs => tell({ delayMs }),
    ask: url => tell({ url }),
    stop: () => child.kill(),
  }
}

if (process.argv[2] === 'peer') {
  let delayMs = 0
  const agent = new http.Agent({ keepAlive: true })
  const server = http.createServer((request, response) => {
    const startMs = performance.now()
    const { pathname, searchParams } = new URL(request.url!, 'http://peer')
    setTimeout(
      () => {
        const tookMs = (performance.now() - startMs).toFixed(3)
        response.setHeader('x-took', tookMs)
        if (searchParams.has('claims')) response.setHeader('server-timing', `total;dur=${tookMs}`)
        response.end('ok')
      },
      Number(pathname.split('/').at(-1)),
    )
  })
  const way = net.createServer(near => {
    const far = net.connect((server.address() as AddressInfo).port, '127.0.0.1')
    near.on('data', bytes => setTimeout(() => far.write(bytes), delayMs))
    far.on('data', bytes => near.write(bytes))
    near.on('error', () => far.destroy()).on('close', () => far.destroy())
    far.on('error', () => near.destroy()).on('close', () => near.destroy())
  })
  for (const listener of [server, way]) {
    listener.listen(0, '127.0.0.1')
    await once(listener, 'listening')
  }
  process.on('message', (message: { delayMs?: number; url?: string }) => {
    if (message.delayMs !== undefined) {
      delayMs = message.delayMs
      process.send!({})
    } else http.get(message.url!, { agent }, response => response.resume().on('end', () => process.send!({})))
  })
  process.on('disconnect', () => process.exit())
  process.send!({ port: (server.address() as AddressInfo).port, wayPort: (way.address() as AddressInfo).port })
}
