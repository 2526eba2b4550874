/**
 * The answer of a request whose deadline has passed: 504, made ready beforehand, through Node's response, since its
 * handler has that response in hands. What the handler writes afterwards goes nowhere: without this it would be an
 * exception ("headers already sent") in an app that has done nothing wrong.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { endAfter } from '../connection/last-of-connection.ts'

export const LATE_PROBLEM_JSON: string = JSON.stringify({
  type: 'about:blank',
  title: 'Gateway Timeout',
  status: 504,
  detail: 'The answer was not ready in the time this request may take. What it was waiting for has been cancelled.',
})

export const LATE_PAGE: string = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>This took too long</title>
<style>body{font:1.1rem/1.5 system-ui,sans-serif;max-width:34rem;margin:18vh auto;padding:0 1.5rem;color:#222}@media(prefers-color-scheme:dark){body{background:#111;color:#ddd}}</style>
</head><body><h1>This took too long</h1><p>Something we depend on did not answer in time, so we have stopped waiting. It may or may not have been carried out.</p></body></html>
`

interface Ready {
  readonly type: string
  readonly body: Buffer
}

const JSON_ANSWER: Ready = { type: 'application/problem+json', body: Buffer.from(LATE_PROBLEM_JSON) }
const HTML_ANSWER: Ready = { type: 'text/html; charset=utf-8', body: Buffer.from(LATE_PAGE) }

/** What a browser needs to be shown the answer at all, and what helps to find the request again, stays. */
const KEPT = /^(?:access-control-.*|vary|x-request-id|x-correlation-id|traceparent|server-timing)$/

/** Answers 504 and has everything the handler still does with the response come to nothing. */
export function answerLate(request: IncomingMessage, response: ServerResponse, prefersHtml: boolean): void {
  const { type, body } = prefersHtml ? HTML_ANSWER : JSON_ANSWER
  for (const name of response.getHeaderNames()) if (!KEPT.test(name)) response.removeHeader(name)
  // HTTP/2 has neither, and Node warns of both.
  if (request.httpVersionMajor < 2) {
    response.statusMessage = ''
    // A client that still uploads can not reuse the connection.
    if (!request.complete) endAfter(request, response)
  }
  response.writeHead(504, { 'content-type': type, 'content-length': body.length, 'cache-control': 'no-store' })
  response.end(body)
  mute(response)
}

/** Has everything a handler still does with a response that has been answered in its place come to nothing. */
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
