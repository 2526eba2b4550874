/**
 * Asks one server for what bench/evidence.ts describes, and counts what became of it. Open loops send at their times
 * whatever the server does; clients of a cohort send their next request when the one before was answered.
 */
import http from 'node:http'
import http2 from 'node:http2'

export interface Asked {
  readonly name: string
  readonly path: string
  /** What the handler does (evidence-server.ts). */
  readonly work: string
  /** What that takes on a service that has nothing else to do, the upload included, ms. */
  readonly ownMs: number
  readonly fromMs: number
  /** An open loop: requests at this rate, evenly, until `toMs`. */
  readonly perSecond?: number
  readonly toMs?: number
  /** Or a cohort: clients that come at once, and how many requests each sends. */
  readonly clients?: number
  readonly requests?: number
  /** Of a cohort: what a client's first request does instead. */
  readonly firstWork?: string
  /** Its body drips for this long, ms. */
  readonly uploadMs?: number
}

export interface Became {
  offered: number
  /** 2xx within the promise. */
  good: number
  /** Answered within their own time and the promise, whatever the status, and not shed. */
  inItsTime: number
  /** Later than that, or never. */
  late: number
  /** 503. */
  shed: number
  failed: number
  slowestMs: number
}

export interface LoadResult {
  readonly became: Readonly<Record<string, Became>>
  /** By how much the load generator itself was late, at worst, ms. */
  readonly clientLateMs: number
}

const PROMISE_MS = 1000
/** Streams of one session. */
const STREAMS = 100
const DRIP_MS = 100
/** After the last request was due the run waits for answers so long, and for what takes longer by nature, ms. */
const DRAIN_MS = 5000

/** Answers with the status. */
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
      { offered: 0, good: 0, inItsTime: 0, late: 0, shed: 0, failed: 0, slowestMs: 0 } satisfies Became,
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

/** A body of which a little comes at a time. */
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
