/**
 * The server that bench/accept-lanes.ts measures: `node lanes-server.ts LANES WORK_MS`. It does one slice of WORK_MS
 * per turn of its loop behind a bounded queue and sheds the rest. With 0 it answers at once. It answers a message with
 * the connections accepted and the CPU used since its start.
 */
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { openLanes } from '../../packages/meltproof/src/server/connection/lanes.ts'

export interface LanesCount {
  readonly accepted: number
  readonly cpuUs: number
}

/** The queue holds at most 40 ms of work. */
const QUEUED_WORK_MS = 40
const [lanes, workMs] = process.argv.slice(2).map(Number) as [number, number]
const waiting: http.ServerResponse[] = []
let working = false
let accepted = 0

function slice(): void {
  const until = performance.now() + workMs
  while (performance.now() < until);
  waiting.shift()?.end('ok')
  working = waiting.length > 0
  if (working) setImmediate(slice)
}

const server = http.createServer((_, response) => {
  if (workMs === 0) response.end('ok')
  else if (waiting.length >= QUEUED_WORK_MS / workMs) {
    response.statusCode = 503
    response.end()
  } else {
    waiting.push(response)
    if (!working) setImmediate(slice)
    working = true
  }
})
server.on('connection', () => accepted++)
const opened = openLanes(server, lanes)
server.listen(0, '127.0.0.1', () => {
  if (opened.count !== lanes) throw new Error(`${opened.count} lanes instead of ${lanes}`)
  process.send!({ port: (server.address() as AddressInfo).port })
})
process.on('message', () => {
  const { user, system } = process.cpuUsage()
  process.send!({ accepted, cpuUs: user + system } satisfies LanesCount)
})
process.on('disconnect', () => process.exit())
