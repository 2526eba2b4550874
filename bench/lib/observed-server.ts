/**
 * The server that bench/observed.ts measures: under protect(), with observers on or off.
 *
 *   turns MS SETTLE_MS hello | shed
 *     Answers hello world, or sheds all but 50 requests per second. Observers are switched on and off every MS
 *     milliseconds from the first message on. The first SETTLE_MS of each turn do not count. Answers a message with the
 *     turns.
 *   idle nothing | ledger | observed
 *     Idles: without observers, with the heartbeat that detects stalls (`ledger`), or with metrics().
 *
 * Both states run in one process, so that they share the heap, the code compiled by V8, and the placement by the
 * kernel.
 */
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { protect } from '../../packages/meltproof/dist/index.js'
import { accessLog } from '../../packages/meltproof/dist/logging/access-log.js'
import { metrics } from '../../packages/meltproof/dist/observe/prometheus.js'
import { holdCounted } from '../../packages/meltproof/src/signals/loop-stalls.ts'

export interface Turn {
  readonly on: boolean
  readonly requests: number
  /** CPU of the process during the turn, user and system. */
  readonly us: number
}

const [, , mode, detail, settleMs, work] = process.argv
const server = http.createServer((_, response) => {
  if (work === 'shed') setTimeout(() => response.end(), 20)
  else response.end('hello world\n')
})
const guard = protect(server, work === 'shed' ? { limit: 1 } : {})
if (detail === 'ledger') holdCounted()
if (detail === 'observed') metrics(guard)

const turns: Turn[] = []
let off: (() => void) | undefined
let before = { cpu: process.cpuUsage(), requests: 0 }

function requestsSoFar(): number {
  const { admitted, shed } = guard.stats()
  return Object.values(shed).reduce((sum, count) => sum + count, admitted)
}

/** Enables metrics and, where requests are shed, a log line for each shed. */
function observe(): () => void {
  const { close } = metrics(guard)
  if (work !== 'shed') return close
  const stop = accessLog(guard, { write: () => undefined })
  return () => {
    close()
    stop()
  }
}

function takeTurn(): void {
  const { user, system } = process.cpuUsage(before.cpu)
  turns.push({ on: off !== undefined, requests: requestsSoFar() - before.requests, us: user + system })
  if (off === undefined) off = observe()
  else {
    off()
    off = undefined
  }
  // diagnostics_channel changes prototypes for the first and the last subscriber, so V8 compiles again.
  setTimeout(count, Number(settleMs))
}

function count(): void {
  before = { cpu: process.cpuUsage(), requests: requestsSoFar() }
}

server.listen(0, '127.0.0.1', () => process.send!({ port: (server.address() as AddressInfo).port }))
let turning: NodeJS.Timeout | undefined
process.on('message', () => {
  if (mode === 'idle') {
    const { user, system } = process.cpuUsage()
    process.send!(user + system)
  } else if (turning === undefined) {
    count()
    turning = setInterval(takeTurn, Number(detail))
    process.send!([])
  } else process.send!(turns)
})
process.on('disconnect', () => process.exit())
