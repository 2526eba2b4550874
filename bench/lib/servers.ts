/**
 * The servers that bench/shed-cost.ts measures, one a name:
 *
 *   shed             the door with a limit of one and 20 ms for each: all but 50 a second are turned away
 *   shed-response    node:http answering the same 503 through ServerResponse, deciding nothing
 *   shed-floor       a net server that parses nothing and writes the same bytes: what no HTTP server can beat
 *
 * With `busy` as second argument the process also burns CPU in slices of about a millisecond, one a turn, for ever: a
 * server that is overloaded sheds in batches between slices of work, not one at a time out of an idle poll.
 */
import http from 'node:http'
import net from 'node:net'
import { fixedLimit } from '../../packages/meltproof/dist/admission/limiter/limiter.js'
import { RequestInterceptor } from '../../packages/meltproof/dist/server/request-interceptor.js'
import { checkProtectOptions } from '../../packages/meltproof/dist/server/protect-options.js'
import { ShedAnswers } from '../../packages/meltproof/dist/server/shed/shed-answer.js'

const { answer } = checkProtectOptions({})
const answers = new ShedAnswers(answer)
const servers: Record<string, () => net.Server> = {
  shed: () => {
    const server = http.createServer((_, response) => {
      setTimeout(() => response.end('ok\n'), 20)
    })
    new RequestInterceptor(server, fixedLimit(1), answers, {
      onFailure: error => {
        throw error
      },
    })
    return server
  },
  'shed-response': () =>
    http.createServer((_, response) => {
      const { headers, body } = answers.parts(false)
      response.writeHead(503, headers)
      response.end(body)
    }),
  'shed-floor': () => {
    const closing = process.argv[4] === 'fresh'
    const bytes = Buffer.from(
      answers.message({ html: false, head: false, keepAlive: !closing }, new Date().toUTCString(), 5000),
      'latin1',
    )
    return net.createServer({ noDelay: true }, socket => {
      socket.on('data', () => (closing ? socket.end(bytes) : socket.write(bytes)))
      socket.on('error', () => socket.destroy())
    })
  },
}

/** CPU that the slices of work have used so far, microseconds. */
let workUs = 0
/** Iterations of one slice, about a millisecond. */
const SLICE = 400_000

function work(): void {
  const before = cpuUs()
  let sum = 0
  for (let i = 0; i < SLICE; i++) sum = (sum + i * 7) | 0
  if (sum !== 1) workUs += cpuUs() - before
  setImmediate(work)
}

function cpuUs(): number {
  const { user, system } = process.cpuUsage()
  return user + system
}

const make = servers[process.argv[2] ?? '']
if (make === undefined) throw new Error(`unknown server ${process.argv[2]}; known: ${Object.keys(servers).join(', ')}`)
if (process.argv[3] === 'busy') work()
const server = make()
server.listen(0, '127.0.0.1', () => process.send!({ port: (server.address() as net.AddressInfo).port }))
process.on('message', () => process.send!(cpuUs() - workUs))
process.on('disconnect', () => process.exit())
