/**
 * Sends the requests that bench/evidence.ts describes to one server, and counts their outcomes. Open loops send on
 * schedule, independent of the answers. Clients of a cohort send their next request after the answer to the one before.
 */
import http from 'node:http'
import http2 from 'node:http2'

export interface Asked {
  readonly name: string
  readonly path: string
  /** Work of the handler (evidence-server.ts). */
  readonly work: string
  /** Time that the request takes on an otherwise idle service, including the upload, ms. */
  readonly ownMs: number
  readonly fromMs: number
  /** For an open loop: requests at this rate, evenly, until `toMs`. */
  readonly perSecond?: number
  readonly toMs?: number
  /** For a cohort: the number of clients that start at the same time, and the requests of each. */
  readonly clients?: number
  readonly requests?: number
  /** For a cohort: the work of the first request of each client. */
  readonly firstWork?: string
  /** Uploads the body in small parts over this time, ms. */
  readonly uploadMs?: number
}

export interface OutcomeCounts {
  offered: number
  /** Answered 2xx within PROMISE_MS. */
  good: number
  /**
   * Answered with any status but 503 within PROMISE_MS. Work that takes longer than PROMISE_MS even alone gets its own
   * time plus PROMISE_MS.
   */
  inItsTime: number
  /** Answered later than that, or never. */
  late: number
  /** Answered 503. */
  shed: number
  failed: number
  slowestMs: number
}

export interface LoadResult {
  readonly became: Readonly<Record<string, OutcomeCounts>>
  /** Maximum lateness of the load generator itself, ms. */
  readonly clientLateMs: number
}

const PROMISE_MS = 1000
/** Maximum number of streams per session. */
const STREAMS = 100
const DRIP_MS = 100
/** After the last request was due, the run waits this long for answers, plus the longest `ownMs * requests`, ms. */
const DRAIN_MS = 5000

/** Resolves with the status of the answer. */
type Send = (asked: Asked, work: string, client: number) => Promise<number>

export async function load(
  port: number,
  over: 'http1' | 'http2',
  all: readonly Asked[],
  drainMs: number = DRAIN_MS,
  promiseMs: number = PROMISE_MS,
): Promise<LoadResult> {
  const wire = over === 'http1' ? http1(port) : http2Wire(port, all)
  const became = Object.fromEntries(
    all.map(({ name }) => [
      name,
      { offered: 0, good: 0, inItsTime: 0, late: 0, shed: 0, failed: 0, slowestMs: 0 } satisfies OutcomeCounts,
    ]),
  )
  const pending = new Map<object, { readonly atMs: number; readonly asked: Asked }>()
  let clientLateMs = 0
  let ended = false
  const start = performance.now()
  const now = (): number => performance.now() - start

  async function ask(asked: Asked, atMs: number, client: number, work = asked.work): Promise<void> {
    const mine = became[asked.name]!
    const token = {}
    mine.offered++
    pending.set(token, { atMs, asked })
    let status = 0
    try {
      status = await wire.send(asked, work, client)
    } catch {
      status = -1
    }
    if (ended) return
    pending.delete(token)
    const ms = now() - atMs
    const allowedMs = asked.ownMs > promiseMs ? asked.ownMs + promiseMs : promiseMs
    if (status === 503) mine.shed++
    else if (status < 0) mine.failed++
    else {
      mine.slowestMs = Math.max(mine.slowestMs, ms)
      if (ms <= promiseMs && status < 400) mine.good++
      if (ms <= allowedMs) mine.inItsTime++
      else mine.late++
    }
  }

  const openLoops = all
    .filter(({ perSecond }) => perSecond !== undefined)
    .flatMap(asked => {
      const { fromMs, toMs = fromMs, perSecond = 1 } = asked
      const every = 1000 / perSecond
      return Array.from({ length: Math.round((toMs - fromMs) / every) }, (_, i) => ({
        asked,
        atMs: fromMs + i * every,
      }))
    })
    .sort((a, b) => a.atMs - b.atMs)
  const asking: Promise<unknown>[] = []
  for (const asked of all.filter(({ clients }) => clients !== undefined)) {
    const one = async (client: number): Promise<void> => {
      for (let n = 0; n < (asked.requests ?? 1) && !ended; n++)
        await ask(asked, now(), client, n === 0 ? asked.firstWork : asked.work)
    }
    asking.push(
      later(asked.fromMs).then(() => Promise.all(Array.from({ length: asked.clients! }, (_, client) => one(client)))),
    )
  }
  let next = 0
  await new Promise<void>(resolve => {
    const tick = (): void => {
      for (; next < openLoops.length && openLoops[next]!.atMs <= now(); next++) {
        const { asked, atMs } = openLoops[next]!
        clientLateMs = Math.max(clientLateMs, now() - atMs)
        asking.push(ask(asked, atMs, next))
      }
      if (next === openLoops.length) resolve()
      else setTimeout(tick, 1)
    }
    tick()
  })
  const patienceMs = drainMs + Math.max(0, ...all.map(({ ownMs, requests = 1 }) => ownMs * requests))
  await Promise.race([Promise.all(asking), later(patienceMs)])
  ended = true
  for (const { asked } of pending.values()) became[asked.name]!.late++
  wire.close()
  return { became, clientLateMs }
}

interface Wire {
  readonly send: Send
  readonly close: () => void
}

function http1(port: number): Wire {
  const agent = new http.Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY })
  return {
    send: ({ path, uploadMs }, work, _client) =>
      new Promise((resolve, reject) => {
        const method = uploadMs === undefined ? 'GET' : 'POST'
        const headers = { 'x-work': work }
        const request = http.request({ host: '127.0.0.1', port, path, method, agent, headers }, response => {
          response.on('error', reject).on('end', () => resolve(response.statusCode!))
          response.resume()
        })
        request.on('error', reject)
        if (uploadMs === undefined) request.end()
        else drip(request, uploadMs)
      }),
    close: () => agent.destroy(),
  }
}

/** Sends a body in small parts for `forMs`. */
function drip(request: http.ClientRequest, forMs: number): void {
  const endAt = performance.now() + forMs
  const more = (): void => {
    if (request.destroyed || request.writableEnded) return
    if (performance.now() >= endAt) request.end()
    else {
      request.write('x'.repeat(100))
      setTimeout(more, DRIP_MS)
    }
  }
  more()
}

function http2Wire(port: number, all: readonly Asked[]): Wire {
  const clients = Math.max(...all.map(each => each.clients ?? 1))
  const sessions = Array.from({ length: Math.ceil(clients / STREAMS) }, () => {
    const session = http2.connect(`http://127.0.0.1:${port}`)
    session.on('error', () => {})
    return session
  })
  return {
    send: ({ path }, work, client) =>
      new Promise((resolve, reject) => {
        const stream = sessions[client % sessions.length]!.request({ ':path': path, 'x-work': work })
        let status = 0
        stream
          .on('response', headers => {
            status = Number(headers[':status'])
          })
          .on('error', reject)
          .on('end', () => resolve(status))
          .resume()
      }),
    close: () => {
      for (const session of sessions) session.destroy()
    },
  }
}

const later = (ms: number): Promise<void> => new Promise(resolve => void setTimeout(resolve, ms))
