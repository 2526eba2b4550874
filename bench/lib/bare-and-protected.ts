/**
 * The process that bench/overhead.ts measures: one app behind two servers, one bare and one under protect(). Both run
 * in one process, so that they share the heap, the code compiled by V8, and the placement by the kernel.
 *
 *   node bare-and-protected.ts hello | soon     answers at once, or after 5 ms, like a handler that queries a database
 *
 * Sends `{ port, protectedPort }` when it listens. It answers the message `used` with the usage since the process
 * began, and any other with the stretches since the last such answer. A stretch is a time in which only one of the two
 * servers received requests.
 */
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { protect } from '../../packages/meltproof/dist/index.js'

export interface Stretch {
  readonly guarded: boolean
  readonly requests: number
  /** CPU of the process during the stretch, user and system. */
  readonly us: number
}

/** Usage since the process began. */
export interface Used {
  readonly requests: number
  readonly us: number
}

/** Interval at which the counts of both servers are compared, ms. */
const LOOK_MS = 10

let bare = 0
let guarded = 0
const soon = process.argv[2] === 'soon'
const handler =
  (count: () => void): http.RequestListener =>
  (_, response) => {
    count()
    if (soon) setTimeout(() => response.end('hello world\n'), 5)
    else response.end('hello world\n')
  }
const bareServer = http.createServer(handler(() => bare++))
const guardedServer = http.createServer(handler(() => guarded++))
protect(guardedServer)

let stretches: { guarded: boolean; requests: number; us: number }[] = []
let last = { bare: 0, guarded: 0, us: 0 }
let open: (typeof stretches)[number] | undefined

function look(): void {
  const { user, system } = process.cpuUsage()
  const us = user + system - last.us
  const [bares, guardeds] = [bare - last.bare, guarded - last.guarded]
  last = { bare, guarded, us: user + system }
  if ((bares === 0) === (guardeds === 0)) {
    open = undefined
    return
  }
  const isGuarded = guardeds > 0
  if (open?.guarded !== isGuarded) {
    open = { guarded: isGuarded, requests: 0, us: 0 }
    stretches.push(open)
  }
  open.requests += bares + guardeds
  open.us += us
}

const listen = (server: http.Server): Promise<number> =>
  new Promise(resolve => {
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port))
  })
const port = await listen(bareServer)
const protectedPort = await listen(guardedServer)
setInterval(look, LOOK_MS)
process.on('message', (message: unknown) => {
  if (message === 'used') {
    const { user, system } = process.cpuUsage()
    process.send!({ requests: bare + guarded, us: user + system } satisfies Used)
    return
  }
  process.send!(stretches)
  stretches = []
})
process.on('disconnect', () => process.exit())
process.send!({ port, protectedPort })
