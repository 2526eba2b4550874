/**
 * Keeps stalls from failing the connection attempts of Node's Happy Eyeballs. When a name has several addresses, Node
 * ends each attempt after 250 ms. If the loop is blocked just after the SYN, the timer of the attempt is already due
 * when the loop runs again, and Node closes a connection that the kernel has already established. So the end of each
 * attempt is postponed by two turns of the loop, each of which polls the socket. If Node's internals are not as
 * expected, nothing changes.
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { Socket } from 'node:net'
import { constants } from 'node:os'
import { nextTick } from 'node:process'
import { setImmediate } from 'node:timers'
import type { Bounds } from './bounds.ts'

/** Published for every outgoing connection: in early Node 22 only from `net.connect()`, later from `connect()`. */
const CLIENT_SOCKET = 'net.client.socket'

const UV_ETIMEDOUT = -constants.errno.ETIMEDOUT

/** Node's pending connect. `oncomplete(status, handle, request, readable, writable)` is called once. */
interface ConnectRequest {
  oncomplete: ((status: number, handle: Handle, request: ConnectRequest, ...open: boolean[]) => void) | undefined
}

type Connect = (request: ConnectRequest, ...address: unknown[]) => number

interface Handle {
  connect: Connect
  connect6: Connect
  close(): void
}

type Connecting = Socket & { connecting: boolean; _handle: Handle | null }

export function guardConnects(bounds: Bounds): () => void {
  const onSocket = (message: unknown): void => {
    bounds.guarded(() => guard((message as { socket: Connecting }).socket, bounds))
  }
  subscribe(CLIENT_SOCKET, onSocket)
  return () => unsubscribe(CLIENT_SOCKET, onSocket)
}

function guard(socket: Connecting, bounds: Bounds): void {
  let attempt: { readonly handle: Handle; readonly request: ConnectRequest } | undefined

  const onAttempt = (): void => {
    bounds.guarded(() => {
      attempt = undefined
      const handle = socket._handle
      if (handle === null) return
      for (const name of ['connect', 'connect6'] as const) {
        const connect = handle[name]
        if (typeof connect !== 'function') continue
        // Node calls this at once, and passes the pending request only here. Then the patches are removed.
        handle[name] = (request, ...address) => {
          delete (handle as Partial<Handle>).connect
          delete (handle as Partial<Handle>).connect6
          attempt = { handle, request }
          return connect.call(handle, request, ...address)
        }
      }
    })
  }
  const onTimeout = (): void => {
    bounds.guarded(() => {
      const pending = attempt
      attempt = undefined
      if (pending === undefined || socket._handle !== pending.handle || !socket.connecting) return
      const { handle, request } = pending
      const { oncomplete } = request
      if (typeof oncomplete !== 'function') return
      // Node would now discard the request, close the handle and, while connecting, try the next address.
      handle.close = () => {}
      socket.connecting = false
      nextTick(() => {
        delete (handle as Partial<Handle>).close
        if (socket.destroyed) {
          handle.close()
          return
        }
        socket.connecting = true
        request.oncomplete = oncomplete
        setImmediate(() =>
          setImmediate(() => {
            if (!socket.connecting || socket.destroyed || socket._handle !== handle) return
            request.oncomplete = undefined
            oncomplete(UV_ETIMEDOUT, handle, request, false, false)
          }),
        )
      })
    })
  }
  const done = (): void => {
    socket.removeListener('connectionAttempt', onAttempt)
    socket.removeListener('connectionAttemptTimeout', onTimeout)
    socket.removeListener('connect', done)
    socket.removeListener('close', done)
    attempt = undefined
  }
  socket.on('connectionAttempt', onAttempt)
  socket.on('connectionAttemptTimeout', onTimeout)
  socket.once('connect', done)
  socket.once('close', done)
}
