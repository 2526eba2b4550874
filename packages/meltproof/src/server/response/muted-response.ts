/** A response that was answered in place of its handler. */
import type { ServerResponse } from 'node:http'

/**
 * Has everything the handler still does with the response come to nothing. Without this it would be an exception
 * ("headers already sent") in an app that has done nothing wrong.
 */
export function mute(response: ServerResponse): void {
  Object.assign(response, MUTED)
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

const MUTED = {
  setHeader: nothing,
  setHeaders: nothing,
  appendHeader: nothing,
  removeHeader: (): void => {},
  writeHead: nothing,
  flushHeaders: (): void => {},
  addTrailers: (): void => {},
  write: acceptsNothing,
  end: endsNothing,
  writeContinue: (): void => {},
  writeProcessing: (): void => {},
  writeInformation: (): void => {},
  writeEarlyHints: acceptsNothing,
}
