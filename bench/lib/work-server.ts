/**
 * A server in its own process that counts its handlers at work: `node work-server.ts KIND OPTIONS MELTPROOF`. OPTIONS
 * is JSON for protect(), or `bare`; MELTPROOF is the path of the runtime to load. Sends its port, then answers each
 * message with its figures. The message `hang` makes the dependency hang.
 */
import http, { type RequestListener } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { protect as Protect } from '../../packages/meltproof/src/index.ts'

export interface WorkFigures {
  readonly working: number
  readonly most: number
  readonly inflight: number
  /** Maximum ratio of the handlers at work to the limit, or to the permits in use if these exceed a lowered limit. */
  readonly mostPerLimit: number
}

/** The dependency takes 20 ms. After the message `hang` it never answers. */
let hangs = false
const dependency = (): Promise<unknown> => (hangs ? new Promise(() => {}) : sleep(QUICK_MS))

const [kind = '', options = 'bare', meltproof = ''] = process.argv.slice(2)
/** One request in this number hangs for HANGS_MS; the others take QUICK_MS. */
const ONE_IN = 57
const HANGS_MS = 6000
const QUICK_MS = 20
let working = 0
let most = 0
let mostPerLimit = 0
let came = 0

async function at<T>(work: () => Promise<T>): Promise<T> {
  most = Math.max(most, ++working)
  try {
    return await work()
  } finally {
    working--
  }
}

const KINDS: Readonly<Record<string, RequestListener>> = {
  /** A dependency that works on any number of requests at the same time. */
  unbounded: (_, response) => {
    void at(dependency).then(() => response.end('done'))
  },
  'cheap-and-heavy': (request, response) => {
    if (request.url?.startsWith('/cheap')) return void response.end('cheap')
    void at(() => sleep(2000)).then(() => response.end('heavy'))
  },
  'some-hang': (_, response) => {
    void at(() => sleep(++came % ONE_IN === 0 ? HANGS_MS : QUICK_MS)).then(() => response.end('done'))
  },
  /** Its work ends when the client disconnects, and it sends no response. */
  silent: (_, response) => {
    let left = false
    response.on('close', () => {
      left = true
    })
    void at(() => sleep(QUICK_MS)).then(() => {
      if (!left) response.end('done')
    })
  },
}

const handler = KINDS[kind]
if (handler === undefined) throw new Error(`unknown kind of work ${kind}; known: ${Object.keys(KINDS).join(', ')}`)
const server = http.createServer(handler)
const { protect } = (await import(meltproof)) as { protect: typeof Protect }
const guard = options === 'bare' ? undefined : protect(server, JSON.parse(options))
if (guard !== undefined) {
  setInterval(() => {
    const { limit, inflight } = guard.stats()
    mostPerLimit = Math.max(mostPerLimit, working / Math.max(limit, inflight))
  }, 20).unref()
}
server.listen(0, '127.0.0.1', () => process.send!({ port: (server.address() as { port: number }).port }))
process.on('message', message => {
  if (message === 'hang') hangs = true
  const { inflight = working } = guard?.stats() ?? {}
  process.send!({ working, most, inflight, mostPerLimit } satisfies WorkFigures)
})
process.on('disconnect', () => process.exit())
