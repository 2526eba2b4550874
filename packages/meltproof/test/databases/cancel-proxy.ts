/** A proxy in front of PostgreSQL that recognises cancel requests. The test sets what it does with them. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

const CANCEL_REQUEST_CODE = 80_877_102

/**
 * `pass`: forwards them. `swallow`: closes them and forwards nothing, like a balancer that sends them to another
 * server. `silent`: neither forwards nor closes them. A number: forwards and closes them after this many ms.
 */
export type CancelTreatment = 'pass' | 'swallow' | 'silent' | number

export interface CancelProxy {
  readonly port: number
  treatment: CancelTreatment
  /** Connections since the start. Cancel requests are not counted. */
  connections: number
  cancels: number
  /** Current cancel requests, and the most at once. */
  cancelling: number
  mostCancelling: number
  stop(): Promise<void>
}

export async function cancelProxy(postgresPort: number): Promise<CancelProxy> {
  const sockets = new Set<Socket>()
  const server = createServer(socket => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.once('data', first => void lead(socket, first))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const proxy: CancelProxy = {
    port: (server.address() as AddressInfo).port,
    treatment: 'pass',
    connections: 0,
    cancels: 0,
    cancelling: 0,
    mostCancelling: 0,
    async stop() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
  return proxy

  async function lead(socket: Socket, first: Buffer): Promise<void> {
    if (first.length === 16 && first.readInt32BE(4) === CANCEL_REQUEST_CODE) {
      proxy.cancels++
      proxy.mostCancelling = Math.max(proxy.mostCancelling, ++proxy.cancelling)
      socket.on('close', () => proxy.cancelling--)
      const { treatment } = proxy
      if (treatment === 'silent') return
      if (treatment === 'swallow') {
        socket.end()
        return
      }
      if (typeof treatment === 'number') await sleep(treatment)
    } else proxy.connections++
    const upstream = connect(postgresPort, '127.0.0.1')
    sockets.add(upstream)
    upstream.on('error', () => socket.destroy())
    socket.on('close', () => upstream.destroy())
    upstream.write(first)
    upstream.pipe(socket)
    socket.pipe(upstream)
  }
}
