/**
 * An upload gives its permit back while its client is slow. Processing the body needs a permit again, so the end of the
 * body is withheld from the handler until the upload has one.
 */
import { AsyncResource } from 'node:async_hooks'
import type { ShedReason } from '../../admission/sheds.ts'
import { now } from '../../clock.ts'
import { Exchange } from '../request/exchange.ts'
import { mute } from '../response/muted-response.ts'
import type { Shedding } from '../shed/shedding.ts'
import { isHttp2 } from '../request/is-http2.ts'

/** When the whole body has arrived, calls `ask` with an exchange that needs a permit. Its `resume` ends the body. */
export function keepUploadEnd(upload: Exchange, ask: (exchange: Exchange) => void): void {
  const { request, response, connection, keepAlive, url, kindKey, budget } = upload
  if (response === undefined) return
  const { push } = request
  request.push = (chunk: unknown, encoding?: BufferEncoding): boolean => {
    if (chunk !== null) return push.call(request, chunk, encoding)
    request.push = push
    const exchange = new Exchange(request, connection, keepAlive, now(), url)
    exchange.resumesUpload = true
    exchange.kindKey = kindKey
    exchange.response = response
    exchange.budget = budget
    exchange.resume = AsyncResource.bind(() => void push.call(request, null))
    upload.uploadEnd = exchange
    ask(exchange)
    return false
  }
}

/** Sheds an upload that has no permit to process its body. To the handler it looks as if the client had aborted it. */
export function shedUploadEnd(exchange: Exchange, reason: ShedReason, shedding: Shedding): void {
  const { request } = exchange
  const response = exchange.response!
  if (!isHttp2(request)) response.shouldKeepAlive = false
  shedding.shed(exchange, reason)
  mute(request, response)
  response.on('close', () => request.destroy())
}
