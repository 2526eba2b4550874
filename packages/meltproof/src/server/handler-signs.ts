/**
 * Sees when the handler of a request has ended whose answer nobody waits for any more. Either it ends or destroys the
 * response; or it asks whether anybody still waits, as Koa 2 and Hono do before they answer. What learns that nobody does,
 * stops.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'

/** Those that are true tell that nobody waits; `socket` is asked whether it is writable. */
const OF_RESPONSE = ['destroyed', 'closed', 'finished', 'writableEnded', 'headersSent', 'socket'] as const
const OF_REQUEST = ['aborted'] as const

/** Calls `ended` once, if ever, when the handler that answers with this response is seen to have ended. */
export function onHandlerEnd(request: IncomingMessage, response: ServerResponse, ended: () => void): void {
  let over = false
  const end = (): void => {
    if (over) return
    over = true
    ended()
  }
  for (const name of ['end', 'destroy'] as const) watchCall(response, name, end)
  // Whoever listens for the end of the response, we among them, looks at it until then.
  const watch = (): unknown => setImmediate(() => !over && watchAsking(request, response, end))
  if (response.closed || response.destroyed) watch()
  else response.once('close', watch)
}

function watchCall(response: ServerResponse, name: 'end' | 'destroy', called: () => void): void {
  const original = response[name] as (...args: unknown[]) => unknown
  Object.assign(response, {
    [name](this: ServerResponse, ...args: unknown[]): unknown {
      called()
      return original.apply(this, args)
    },
  })
}

function watchAsking(request: IncomingMessage, response: ServerResponse, asked: () => void): void {
  try {
    watchReads(response, OF_RESPONSE, asked)
    watchReads(request, OF_REQUEST, asked)
  } catch {
    // Of the app's own make, and not to be changed: this way it tells nothing.
  }
}

/** Those of its properties that tell do not change any more; asking once is enough. */
function watchReads<T extends object>(asked: T, names: readonly (keyof T)[], read: () => void): void {
  // All of them before the first is watched: one reads another.
  const values = names.map(name => asked[name])
  for (const [i, name] of names.entries()) {
    if (values[i] === true || name === 'socket') watchRead(asked, name, values[i], read)
  }
}

function watchRead<T extends object>(asked: T, name: keyof T, value: unknown, read: () => void): void {
  const own = Object.getOwnPropertyDescriptor(asked, name)
  const restore = (): void => {
    if (own === undefined) delete asked[name]
    else Object.defineProperty(asked, name, own)
  }
  Object.defineProperty(asked, name, {
    configurable: true,
    enumerable: own?.enumerable ?? false,
    get() {
      restore()
      read()
      return value
    },
    set(given: unknown) {
      restore()
      Reflect.set(asked, name, given)
    },
  })
}
