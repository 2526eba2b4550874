/** Servers with a gate whose limit is known, and handlers that respond when the test decides. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import http, { type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import https from 'node:https'
import type { AddressInfo } from 'node:net'
import { after } from 'node:test'
import { GATE_TUNING, type GateTuning } from '../../src/admission/gate.ts'
import { fixedLimit, type Limiter } from '../../src/admission/limiter/limiter.ts'
import { RequestPath } from '../../src/server/request-path.ts'
import type { MemoryPolicy, RequestPolicy } from '../../src/server/request/policy.ts'
import { HTML_PAGE, OwnAnswers, SHED_PROBLEM, type ShedAnswerOptions } from '../../src/server/response/own-answers.ts'
import { RawConnection } from './raw.ts'
import { CERTIFICATE } from './tls.fixture.ts'

const servers = new Set<http.Server>()
const connections = new Set<RawConnection>()
after(() => {
  for (const connection of connections) connection.destroy()
  for (const server of servers) {
    server.close()
    server.closeAllConnections()
  }
})

export interface Service {
  readonly server: http.Server
  readonly port: number
  connect(): Promise<RawConnection>
}

export async function listen(server: http.Server, secure = server instanceof https.Server): Promise<Service> {
  servers.add(server)
  if (!server.listening) {
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
  }
  const { port } = server.address() as AddressInfo
  return { server, port, connect: () => connect(port, secure) }
}

export async function connect(port: number, secure = false): Promise<RawConnection> {
  const connection = await RawConnection.open(port, secure)
  connections.add(connection)
  return connection
}

export interface GatedOptions {
  readonly policy?: RequestPolicy
  readonly limit?: number
  readonly limiter?: Limiter
  readonly tuning?: Partial<GateTuning>
  readonly answer?: Partial<ShedAnswerOptions>
  readonly server?: http.ServerOptions
  readonly secure?: boolean
  readonly onFailure?: (error: unknown) => void
}

export interface GatedService extends Service {
  readonly requestPath: RequestPath
}

/** By default no waiting request is shed, and no turn ends for lack of budget. */
const PATIENT: GateTuning = { ...GATE_TUNING, maxWaitMs: 600_000, staleMs: 600_000, turnBudgetMs: 60_000 }

/** Starts a server with a gate. A failure of the gate fails the test unless it is expected. */
export async function startGated(handler: RequestListener, options: GatedOptions = {}): Promise<GatedService> {
  const server = options.secure
    ? https.createServer({ ...CERTIFICATE, ...options.server }, handler)
    : http.createServer(options.server ?? {}, handler)
  const requestPath = pathOn(server, options)
  return { ...(await listen(server)), requestPath }
}

/** Puts a gate with a known limit on a server that does not listen yet. */
export function pathOn(server: http.Server, options: GatedOptions = {}): RequestPath {
  const answers = new OwnAnswers({
    retryAfterS: [1, 5],
    headers: {},
    body: SHED_PROBLEM,
    page: HTML_PAGE,
    pressure: () => 0,
    ...options.answer,
  })
  const limiter = options.limiter ?? fixedLimit(options.limit ?? 1)
  const onFailure =
    options.onFailure ??
    ((error: unknown) => {
      throw error
    })
  const tuning = { ...PATIENT, ...options.tuning }
  return new RequestPath(server, {
    guard: {},
    limiter,
    answers,
    onFailure,
    tuning,
    policy: options.policy ?? {},
  })
}

export interface Held {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

/** A handler that does nothing. The test takes each request and responds. */
export class Holding {
  readonly #arrived: Held[] = []
  readonly #takers: ((held: Held) => void)[] = []
  /** Paths in the order in which their handlers started. */
  readonly started: string[] = []

  readonly handler = (request: IncomingMessage, response: ServerResponse): void => {
    this.started.push(request.url!)
    const held = { request, response }
    const taker = this.#takers.shift()
    if (taker === undefined) this.#arrived.push(held)
    else taker(held)
  }

  /** Returns the next request whose handler has started. */
  async take(url?: string): Promise<Held> {
    const held = this.#arrived.shift() ?? (await new Promise<Held>(resolve => this.#takers.push(resolve)))
    if (url !== undefined) assert.equal(held.request.url, url)
    return held
  }
}

/** Waits until `holds` returns true, and fails after ten seconds. */
export async function eventually(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 10_000
  while (!(await holds())) {
    assert.ok(Date.now() < deadline, `${what}: did not happen within 10 s`)
    await new Promise(resolve => setTimeout(resolve, 2))
  }
}

export interface FullService extends GatedService {
  readonly holding: Holding
  /** Ends the two requests that fill the gate. */
  readonly freePermits: () => Promise<void>
}

/** A gate that sheds the next request at once: one is in service, one waits, and the queue is full. */
export async function startFull(options: GatedOptions = {}): Promise<FullService> {
  const holding = new Holding()
  const service = await startGated(holding.handler, { ...options, tuning: { maxQueued: 1, ...options.tuning } })
  const inService = (await service.connect()).get('/in-service')
  const { response } = await holding.take('/in-service')
  const waiting = (await service.connect()).get('/waiting')
  await eventually('a request waits', () => service.requestPath.stats().queued === 1)
  const freePermits = async (): Promise<void> => {
    response.end()
    await inService.answer()
    const next = await holding.take('/waiting')
    next.response.end()
    await waiting.answer()
    await eventually('nothing is in service', () => service.requestPath.stats().inflight === 0)
  }
  return { ...service, holding, freePermits }
}

/** A full gate, with a client of the test in service. The handler of its `/a` has started; another request waits. */
export async function startFullForClient(): Promise<{ service: FullService; client: RawConnection; a: Held }> {
  const service = await startFull()
  await service.freePermits()
  const client = (await service.connect()).get('/a')
  const a = await service.holding.take('/a')
  ;(await service.connect()).get('/other')
  await eventually('the other waits', () => service.requestPath.stats().queued === 1)
  return { service, client, a }
}

/** A memory that refuses requests while `refuses` returns true. */
export function memoryThat(refuses: () => boolean): MemoryPolicy {
  return {
    refuses,
    get mayRefuse() {
      return refuses()
    },
    fullOf: () => undefined,
    entered: () => undefined,
    left: () => undefined,
    sources: new Set(),
  }
}
