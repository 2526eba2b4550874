/**
 * The server that bench/observed.ts measures: under protect(), with everything of observing on or off.
 *
 *   turns MS SETTLE_MS hello | shed    hello world, or all but 50 requests a second shed; on and off in turns of MS milliseconds, from the first message on, of which the first SETTLE_MS do
 *                        not count; a message is answered with the turns
 *   idle nothing | ledger | observed    idle, with nothing on, with the stall ledger's heartbeat, with everything
 *
 * In one process rather than two, because nothing else differs then: not the heap, not what V8 has compiled, not where
 * the kernel put it.
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
  /** CPU of the process meanwhile, user and system. */
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

/** Metrics; where requests are shed, a line of each as well. */
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
  // diagnostics_channel changes prototypes when the first subscriber comes and the last one leaves, so V8 compiles anew.
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
