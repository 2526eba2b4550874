/**
 * What it costs to tell balancers of the load (`reportLoadTo`): CPU of this process for an answer with and without a report,
 * beyond the number of answers that have one, for a shed, and to make a report. Everything but the kernel: the socket takes what
 * is written and drops it.
 *
 *   node bench/load-report.ts
 *
 * Bar: at most 0.5 % of a core at any rate.
 */
import http, { IncomingMessage, ServerResponse } from 'node:http'
import { Duplex } from 'node:stream'
import { LoadReports } from '../packages/meltproof/src/server/response/load-reports.ts'
import { HTML_PAGE, OwnAnswers, PROBLEM_JSON } from '../packages/meltproof/src/server/response/own-answers.ts'
import { checkPeers } from '../packages/meltproof/src/server/request/peers.ts'
import { protect } from '../packages/meltproof/src/index.ts'
import { ProcessGate } from '../packages/meltproof/src/process-gate.ts'
import { median } from './lib/measured-server.ts'

const ROUNDS = 15
const EACH = 20_000

class Sink extends Duplex {
  readonly remoteAddress = '127.0.0.1'
  override _read(): void {}
  override _write(_: unknown, __: unknown, done: () => void): void {
    done()
  }
}
void http, void protect, void ProcessGate

function cpuUs(act: () => void): number {
  const before = process.cpuUsage()
  for (let i = 0; i < EACH; i++) act()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / EACH
}

const figures = () => ({ loop: 0.31, utilisation: 0.5, demand: 1.2, limitKnown: true, offeredPerS: 901, shedPerS: 17 })
const socket = new Sink()
socket.resume()

function answer(tell?: (request: IncomingMessage, response: ServerResponse) => void): void {
  const request = new IncomingMessage(socket as never)
  request.httpVersionMajor = 1
  request.httpVersionMinor = 1
  const response = new ServerResponse(request)
  response.assignSocket(socket as never)
  tell?.(request, response)
  response.setHeader('content-type', 'text/plain')
  response.end('ok')
  response.detachSocket(socket as never)
}

/** All of them: as if each were the first of its tenth of a second. */
function unbounded(): (request: IncomingMessage, response: ServerResponse) => void {
  let reports = make()
  let told = 0
  return (request, response) => {
    if (++told % 200 === 0) reports = make()
    reports.onto(request, response)
  }
}
function make(peers = ['127.0.0.0/8']): LoadReports {
  return new LoadReports(checkPeers('reportLoadTo', peers)!, figures)
}
const beyond = make()
const strange = make(['10.0.0.0/8'])
const shedder = (reports: LoadReports | undefined): (() => void) => {
  const answers = new OwnAnswers({
    retryAfterS: [1, 5],
    headers: {},
    body: { type: 'application/problem+json', text: PROBLEM_JSON },
    page: HTML_PAGE,
    pressure: () => 0.5,
    reports,
  })
  const connection = { socket, startIdleTimeout() {} } as never
  const server = { keepAliveTimeout: 5000 } as never
  const kind = { preflight: false, page: false, head: false, keepAlive: true }
  return () => answers.shedAtSocket(connection, kind, server, performance.now(), true)
}
const cases: Readonly<Record<string, () => void>> = {
  bare: () => answer(),
  told: (tell => () => answer(tell))(unbounded()),
  beyond: () => answer((request, response) => beyond.onto(request, response)),
  stranger: () => answer((request, response) => strange.onto(request, response)),
  shed: shedder(undefined),
  shedTold: shedder(make()),
}
const found = Object.fromEntries(Object.keys(cases).map(name => [name, [] as number[]]))
for (let round = 0; round < ROUNDS; round++) for (const name of Object.keys(cases)) found[name]!.push(cpuUs(cases[name]!))
for (const [name, us] of Object.entries(found)) console.log(name.padEnd(10), median(us).toFixed(3), 'us')
