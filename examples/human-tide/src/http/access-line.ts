/** One line a request through console.log, as the app of 2013 had it. For experiments (`LOG=console`). */
import type { RequestHandler } from 'express'

export const accessLine: RequestHandler = (request, response, next) => {
  const began = process.hrtime.bigint()
  response.on('finish', () => {
    const ms = Number(process.hrtime.bigint() - began) / 1e6
    // The path is the caller's text: quoted, so that it can not make a line of its own.
    console.log(
      `${new Date().toISOString()} ${request.method} ${JSON.stringify(request.path)} ${response.statusCode} ${ms.toFixed(1)} ms`,
    )
  })
  next()
}
