/** Servers for the tests of the load engine. Each misbehaves in one way, on its own port. */
import { createServer as createHttp, type RequestListener } from 'node:http'
import {
  createSecureServer as createSecureHttp2,
  createServer as createHttp2,
  type IncomingHttpHeaders,
  type SecureServerOptions,
  type ServerHttp2Stream,
  type ServerOptions,
} from 'node:http2'
import { createServer, type Server, type Socket } from 'node:net'
import { freePort } from '../../src/launch/free-port.ts'
import type { LoadOutcome, LoadPlan } from '../../src/load/plan.ts'
import { runLoad } from '../../src/load/run.ts'
import { planFor } from './plan-for.ts'

export { constant, planFor } from './plan-for.ts'

export interface TestServer {
  readonly url: string
  readonly port: number
  close(): Promise<void>
}

const listening = async (server: Server, sockets: Set<Socket>, scheme = 'http'): Promise<TestServer> => {
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('error', () => {}).on('close', () => sockets.delete(socket))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  return {
    url: `${scheme}://127.0.0.1:${port}/`,
    port,
    close: () => {
      for (const socket of sockets) socket.destroy()
      return new Promise(resolve => server.close(() => resolve()))
    },
  }
}

/** A server of raw sockets: `onSocket` decides everything. */
export const rawServer = (onSocket: (socket: Socket) => void): Promise<TestServer> =>
  listening(createServer({ noDelay: true }, onSocket), new Set())

/** HTTP/2 without TLS, or with it where `options` hold a key. */
export const http2Server = (
  onStream: (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void,
  options: SecureServerOptions = {},
): Promise<TestServer> => {
  const server = options.key === undefined ? createHttp2(options as ServerOptions) : createSecureHttp2(options)
  server
    .on('sessionError', () => {})
    .on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
      stream.on('error', () => {})
      onStream(stream, headers)
    })
  return listening(server, new Set(), options.key === undefined ? 'http' : 'https')
}

export const httpServer = (listener: RequestListener): Promise<TestServer> => {
  const server = createHttp({ keepAliveTimeout: 0 }, listener)
  return listening(server, new Set())
}

/** Answers each request after a while, and counts its maximum of concurrent requests. */
export const waitingServer = async (
  answersAfterMs: number,
): Promise<TestServer & { readonly mostAtOnce: () => number }> => {
  let open = 0
  let most = 0
  const server = await httpServer((_, res) => {
    open++
    most = Math.max(most, open)
    setTimeout(() => {
      open--
      res.end('ok')
    }, answersAfterMs)
  })
  return { ...server, mostAtOnce: () => most }
}

/** A port on which nothing listens, and which no other process gets by chance. */
export const closedPort = freePort

export const total = (counts: Readonly<Record<string, number | undefined>>): number =>
  Object.values(counts).reduce<number>((sum, times) => sum + (times ?? 0), 0)

/** Checks the totals that must agree in every outcome. */
export const booksBalance = (outcome: LoadOutcome): void => {
  const { scheduled, sent, unsent, answered, failed, seconds } = outcome
  const books = JSON.stringify({ scheduled, sent, unsent, answered, failed })
  const check = (what: string, left: number, right: number): void => {
    if (left !== right) throw new Error(`${what}: ${left} is not ${right} in ${books}`)
  }
  check('scheduled = sent + unsent', scheduled, sent + unsent)
  check('sent = answered + failed', sent, total(answered) + total(failed))
  check(
    'latencies = answers',
    outcome.okLatency.count + outcome.shedLatency.count + outcome.otherLatency.count,
    total(answered),
  )
  check('send lags = sent', outcome.sendLag.count, sent)
  const sum = (read: (second: (typeof seconds)[number]) => number): number =>
    seconds.reduce((all, one) => all + read(one), 0)
  check(
    'scheduled by second',
    sum(second => second.scheduled),
    scheduled,
  )
  check(
    'sent by second',
    sum(second => second.sent),
    sent,
  )
  check(
    'answered by second',
    sum(second => total(second.answered)),
    total(answered),
  )
  check(
    'failed by second',
    sum(second => total(second.failed)),
    total(failed),
  )
  check(
    'good by second',
    sum(second => second.good),
    outcome.good,
  )
}

/** Timeouts that outlast any stall of the machine. */
export const PATIENT = { timeoutMs: 20_000, connectTimeoutMs: 20_000, sloMs: 20_000 } as const

/**
 * The timeout of requests that are never answered. It is longer than a busy machine stalls, because a request that
 * finds no connection within it is not sent at all.
 */
export const SILENCE_MS = 5_000

/** Runs a plan against a server, checks the totals, and closes the server. */
export const against = async (server: TestServer, plan: Partial<LoadPlan> = {}): Promise<LoadOutcome> => {
  try {
    const outcome = await runLoad(planFor(server.url, { ...PATIENT, ...plan }))
    booksBalance(outcome)
    return outcome
  } finally {
    await server.close()
  }
}
