/** Creates spans for requests that were shed or whose client left, which the app never sees: at most one a second. */
import { type ShedMessage, sheds } from '../channels.ts'
import { now, wallClockMs } from '../clock.ts'
import { LEFT } from '../record.ts'
import { schemeOf } from './measuring.ts'
import type { Api } from './peer.ts'

const EVERY_MS = 1000

export function spansOfSheds(api: Api, guard: object): () => void {
  const tracer = api.trace.getTracer('meltproof')
  let lastMs = Number.NEGATIVE_INFINITY
  let since = 0
  const onShed = ({ record, guard: shedder, server, request }: ShedMessage): void => {
    if (shedder !== guard) return
    since += record.count
    const nowMs = now()
    if (request === undefined || nowMs - lastMs < EVERY_MS) return
    lastMs = nowMs
    const left = record.reason === LEFT
    const span = tracer.startSpan(
      record.method,
      {
        kind: api.SpanKind.SERVER,
        startTime: wallClockMs() - record.waitedMs,
        attributes: {
          'http.request.method': record.method,
          'url.path': request.url?.split('?', 1)[0] ?? '',
          'url.scheme': schemeOf(server),
          'error.type': left ? 'aborted' : 'shed',
          'meltproof.reason': record.reason,
          'meltproof.queued_ms': record.waitedMs,
          // Number of such requests since the last span.
          'meltproof.count': since,
          ...(left ? {} : { 'http.response.status_code': 503 }),
        },
      },
      api.propagation.extract(api.ROOT_CONTEXT, request.headers),
    )
    span.setStatus({ code: api.SpanStatusCode.ERROR })
    span.end()
    since = 0
  }
  sheds.subscribe(onShed)
  return () => sheds.unsubscribe(onShed)
}
