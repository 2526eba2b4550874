/**
 * Clients that stay: idle connections that never say a word, and slow ones that drip a head or a body a byte at a time
 * (slowloris). Each is opened again when the server has had enough of it.
 */
import net from 'node:net'
import type { Random } from '../sim/random.ts'
import { leave } from './client.ts'

/** One byte a tick to each slow connection: a head of 60 bytes takes longer than the server's headersTimeout. */
const DRIP_MS = 100

export interface Background {
  readonly opened: number
  stop(): void
}

export function startBackground(ports: readonly number[], idle: number, slow: number, random: Random): Background {
  const sockets = new Set<net.Socket>()
  const dripping = new Map<net.Socket, { readonly bytes: string; at: number }>()
  let opened = 0
  let stopped = false

  const open = (drip: boolean): void => {
    if (stopped) return
    const port = ports[Math.floor(random.next() * ports.length)]!
    const socket = net.connect({ port, host: '127.0.0.1', localAddress: '127.0.0.1' })
    opened++
    sockets.add(socket)
    if (drip) dripping.set(socket, { bytes: slowBytes(random), at: 0 })
    socket.on('data', () => {})
    socket.on('error', () => {})
    socket.on('close', () => {
      sockets.delete(socket)
      dripping.delete(socket)
      setTimeout(() => open(drip), 100).unref()
    })
  }
  for (let i = 0; i < idle; i++) open(false)
  for (let i = 0; i < slow; i++) open(true)

  const timer = setInterval(() => {
    for (const [socket, drip] of dripping) {
      if (!socket.writable || socket.connecting) continue
      socket.write(drip.bytes[drip.at++ % drip.bytes.length]!, 'latin1')
    }
  }, DRIP_MS)

  return {
    get opened() {
      return opened
    },
    stop() {
      stopped = true
      clearInterval(timer)
      for (const socket of sockets) leave(socket)
    },
  }
}

function slowBytes(random: Random): string {
  const head = 'POST /echo/0 HTTP/1.1\r\nHost: slow\r\n'
  const luck = random.next()
  if (luck < 0.4) return `${head}${'X-More: x\r\n'.repeat(1000)}`
  if (luck < 0.7) return `${head}Content-Length: 100000\r\n\r\n${'x'.repeat(1000)}`
  return `${head}Transfer-Encoding: chunked\r\n\r\n${'1\r\nx\r\n'.repeat(1000)}`
}
