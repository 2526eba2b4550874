/** Answers errors as RFC 9457 problems, with a code that the phone's page knows. */
import type { ServerResponse } from 'node:http'
import type { ErrorRequestHandler, RequestHandler, Response } from 'express'
import { Refusal } from '../refusal.ts'

export function sendProblem(response: Response, refusal: Refusal): void {
  const { status, code, message, more, retryAfterS } = refusal
  if (retryAfterS !== undefined) response.set('retry-after', String(retryAfterS))
  if (status === 401) response.set('www-authenticate', 'Bearer')
  response
    .status(status)
    .type('application/problem+json')
    .send(JSON.stringify({ status, code, title: message, ...more }))
}

export const notFound: RequestHandler = (request, response) => {
  const answer = new Refusal(404, 'not-found', `There is nothing at ${request.path}`)
  sendProblem(response, answer)
}

/**
 * The last error handler. It must not throw, because Express would then answer with a page that shows the paths of our
 * files. Express recognises an error handler by its four parameters.
 */
export const onError: ErrorRequestHandler = (error, _request, response, _next) => {
  try {
    if (!response.headersSent) return sendProblem(response, refusalOf(error))
  } catch (worse) {
    console.error('human-tide: an error could not be answered:', worse)
    if (!response.headersSent) return sendLastWords(response)
  }
  response.destroy()
}

/** Cannot fail: it sends constants, without Express. */
function sendLastWords(response: ServerResponse): void {
  for (const name of response.getHeaderNames()) if (name.startsWith('content-')) response.removeHeader(name)
  response.writeHead(500, { 'content-type': 'application/problem+json' }).end(LAST_WORDS)
}
const LAST_WORDS = JSON.stringify({ status: 500, code: 'our-fault', title: 'Something went wrong here' })

/** Errors of body-parser have a `type`, those of PostgreSQL and the network a `code`. */
function refusalOf(error: unknown): Refusal {
  if (error instanceof Refusal) return error
  const { type, status, code } = (error ?? {}) as { type?: string; status?: number; code?: string }
  if (type === 'entity.too.large') {
    return new Refusal(413, 'too-large', 'The request is larger than 32 KB; send fewer positions at once')
  }
  if (type === 'entity.parse.failed') return new Refusal(400, 'not-json', 'The body is not JSON')
  if (type !== undefined && status !== undefined && status < 500) {
    return new Refusal(status, 'bad-body', 'The body can not be read: JSON in UTF-8, not compressed, is expected')
  }
  if (error instanceof URIError) return new Refusal(400, 'bad-path', 'The path is not a valid one')
  // A failed query is not the client's fault, and the client should not read what exactly failed.
  console.error(`human-tide: ${code ?? ''} ${error instanceof Error ? error.message : String(error)}`)
  return new Refusal(500, 'our-fault', 'Something went wrong here; keep what you have and try again', {}, 5)
}
