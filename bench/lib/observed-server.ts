/**
 * The servers that bench/observed.ts compares: hello world under protect(), alone and with everything of observing on.
 *
 *   protected | observed    with `ledger` as second argument: idle, with the stall ledger's heartbeat on
 */
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { protect } from '../../packages/meltproof/dist/index.js'
import { metrics } from '../../packages/meltproof/dist/observe/prometheus.js'
import { hold } from '../../packages/meltproof/dist/signals/loop-stalls.js'

const [, , arm, mode] = process.argv
const server = http.createServer((_, response) => {
  response.end('hello world\n')
})
const guard = protect(server)
if (arm === 'observed') metrics(guard)
if (mode === 'ledger') hold()
server.listen(0, '127.0.0.1', () => process.send!({ port: (server.address() as AddressInfo).port }))
process.on('message', () => {
  const { user, system } = process.cpuUsage()
  process.send!(user + system)
})
process.on('disconnect', () => process.exit())
