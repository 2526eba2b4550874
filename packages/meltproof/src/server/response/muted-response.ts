import type { ServerResponse } from 'node:http'
import { StreamResponse } from './stream-response.ts'

/** Makes a response ignore its handler, without errors, once meltproof has answered in the handler's place. */
export function mute(response: ServerResponse | StreamResponse): void {
  if (response instanceof StreamResponse) Object.assign(response.stream, MUTED_STREAM)
  else Object.assign(response, MUTED)
}

function nothing(this: unknown): unknown {
  return this
}

function acceptsNothing(...args: readonly unknown[]): boolean {
  const callback = args.find(arg => typeof arg === 'function') as (() => void) | undefined
  if (callback !== undefined) process.nextTick(callback)
  return true
}

function endsNothing(this: unknown, ...args: readonly unknown[]): unknown {
  acceptsNothing(...args)
  return this
}

function each(names: readonly string[], method: (...args: readonly unknown[]) => unknown): object {
  return Object.fromEntries(names.map(name => [name, method]))
}

const MUTED_STREAM = {
  ...each(['respond', 'respondWithFD', 'respondWithFile', 'additionalHeaders', 'sendTrailers'], () => undefined),
  write: acceptsNothing,
  end: endsNothing,
}

const MUTED = {
  ...each(['setHeader', 'setHeaders', 'appendHeader', 'writeHead'], nothing),
  ...each(['removeHeader', 'flushHeaders', 'addTrailers'], () => undefined),
  ...each(['writeContinue', 'writeProcessing', 'writeInformation'], () => undefined),
  ...each(['write', 'writeEarlyHints'], acceptsNothing),
  end: endsNothing,
}
