/**
 * Makes Node's Happy Eyeballs fair. When a name has several addresses, Node gives each attempt 250 ms and then closes
 * it. A loop that is blocked just after the SYN wakes up with that timer due, and closes a connection that the kernel
 * has established meanwhile. So an attempt gets two more turns of the loop, each of which polls: while Node gives up we
 * make its steps void, and take them ourselves two turns later. Where Node is not as we know it, it gives up as before.
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { Socket } from 'node:net'
import { constants } from 'node:os'
import { nextTick } from 'node:process'
import { setImmediate } from 'node:timers'
import type { Bounds } from './bounds.ts'

/** Published for every outgoing connection: from `net.connect()` alone in early Node 22, from `connect()` in later. */
const CLIENT_SOCKET = 'net.client.socket'

const UV_ETIMEDOUT = -constants.errno.ETIMEDOUT

/** Node's pending connect: it calls `oncomplete(status, handle, request, readable, writable)` once. */
interface ConnectRequest {
  oncomplete:
    | ((status: number, handle: object, request: object, readable: boolean, writable: boolean) => void)
    | undefined
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
        // For the one call that follows at once: nowhere else can the pending request be seen.
        handle[name] = (request, ...address) => {
          restore(handle)
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
      // Node goes on to forget the request, to close the handle and, while connecting, to try the next address.
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

/** What we put on the handle hid its prototype's methods. */
function restore(handle: Handle): void {
  delete (handle as Partial<Handle>).connect
  delete (handle as Partial<Handle>).connect6
}
