/** One line a request through console.log, with what the access logger of 2013 put there. For experiments (`LOG=console`). */
import type { RequestHandler } from 'express'

/** Of the caller's own texts, characters. */
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

/** The caller's text can not make a line of its own. */
const quoted = (text: string): string => JSON.stringify(text.slice(0, LONGEST))
