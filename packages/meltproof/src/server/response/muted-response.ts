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

const MUTED_STREAM = {
  respond: (): void => {},
  respondWithFD: (): void => {},
  respondWithFile: (): void => {},
  additionalHeaders: (): void => {},
  sendTrailers: (): void => {},
  write: acceptsNothing,
  end: endsNothing,
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
