/**
 * The main paths give the same answers together with OpenTelemetry's auto-instrumentation and prom-client, and the
 * tracer still sees the requests. Both arms load these companions, so that their effects do not count as meltproof's.
 */
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { install } from '../runner/install.ts'
import { answersOf, hideDifferencesOfTheApp } from './answers.ts'
import type { Check } from './check.ts'

export const companions: Check = async subject => {
  await install('companions', [], subject.progress.line)
  const collector = await collect()
  try {
    const bare = await answersOf(subject, 'bare+companions', collector.url)
    const bareSpans = collector.taken()
    const register = await answersOf(subject, 'register+companions', collector.url)
    const spans = collector.taken()
    const again = () => answersOf(subject, 'bare+companions', collector.url)
    const outcome = await hideDifferencesOfTheApp(bare, register, again)
    const traced = spans >= bareSpans
    return {
      ...outcome,
      ok: outcome.ok && traced,
      failures: [
        ...outcome.failures,
        ...(traced ? [] : [`the tracer saw ${spans} requests of ${bareSpans} it sees without meltproof`]),
      ],
      notes: [
        ...(outcome.notes ?? []),
        ...(bareSpans === 0 ? ['the app created no server span without meltproof either'] : []),
      ],
      figures: { spans, bareSpans },
    }
  } finally {
    collector.close()
  }
}

/** The OTLP kind of a span that a server made for a request. */
const SERVER_SPAN = 2

interface Export {
  readonly resourceSpans?: readonly { scopeSpans?: readonly { spans?: readonly { kind?: number }[] }[] }[]
}

/** A collector that counts the server spans. */
async function collect(): Promise<{ url: string; taken(): number; close(): void }> {
  let spans = 0
  const server = http.createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    try {
      const { resourceSpans = [] } = JSON.parse(Buffer.concat(chunks).toString()) as Export
      const all = resourceSpans.flatMap(of => of.scopeSpans ?? []).flatMap(of => of.spans ?? [])
      spans += all.filter(span => span.kind === SERVER_SPAN).length
    } catch {} // The body has no spans in JSON.
    response.end('{}')
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    taken() {
      const taken = spans
      spans = 0
      return taken
    },
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}
