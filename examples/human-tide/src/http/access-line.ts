/**
 * Logs one line per request with console.log, with the fields of the access logger of 2013. For experiments
 * (`LOG=console`).
 */
import type { RequestHandler } from 'express'

/** Maximum length of a text from the client, characters. */
const LONGEST = 200

export const accessLine: RequestHandler = (request, response, next) => {
  const began = process.hrtime.bigint()
  response.on('finish', () => {
    const ms = Number(process.hrtime.bigint() - began) / 1e6
    console.log(
      `${request.ip} - [${new Date().toISOString()}] ${request.method} ${quoted(request.path)} ${response.statusCode} ${ms.toFixed(1)} ms ${quoted(request.get('user-agent') ?? '-')}`,
    )
  })
  next()
}

/** Quotes a text from the client, so that it cannot begin a new line. */
const quoted = (text: string): string => JSON.stringify(text.slice(0, LONGEST))
