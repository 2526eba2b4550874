/**
 * Measures the cost of `reportLoadTo`: CPU of the process, without the kernel, because the socket discards its input.
 * Each case runs in its own process, the cases alternate, and the figures are medians of the rounds.
 *
 *   node bench/load-report.ts [--rounds 9]
 *
 * Bar: at most 0.5 % of a core at any rate.
 */
import { execFileSync } from 'node:child_process'
import { IncomingMessage, Server, ServerResponse } from 'node:http'
import { Duplex } from 'node:stream'
import { GATE_TUNING } from '../packages/meltproof/src/admission/gate.ts'
import { now } from '../packages/meltproof/src/clock.ts'
import type { LoadFigures } from '../packages/meltproof/src/process-gate.ts'
import { limiterOf } from '../packages/meltproof/src/process-gate.ts'
import { RequestPath } from '../packages/meltproof/src/server/request-path.ts'
import { checkPeers } from '../packages/meltproof/src/server/request/peers.ts'
import { loadReport } from '../packages/meltproof/src/server/response/load-report.ts'
import { LoadReports } from '../packages/meltproof/src/server/response/load-reports.ts'
import { HTML_PAGE, OwnAnswers, SHED_PROBLEM } from '../packages/meltproof/src/server/response/own-answers.ts'
import { scriptOptions } from '../scripts/script-options.ts'

const options = scriptOptions(import.meta.filename, {
  rounds: { type: 'string', default: '9' },
  case: { type: 'string' },
})
const TIMES = 200_000
/** Calls before the measurement, until V8 has compiled the code. */
const FIRST = 20_000
/** Reports sent on app answers, and reports computed, per second at most: the limits in load-reports.ts. */
const TOLD_PER_S = 1000
const MADE_PER_S = 10

class Sink extends Duplex {
  readonly remoteAddress = '127.0.0.1'
  override _read(): void {}
  override _write(_: unknown, __: unknown, done: () => void): void {
    done()
  }
}
const socket = new Sink().resume() as never
const figures = (): LoadFigures => ({
  ...{ loop: 0.31, utilisation: 0.5, demand: 1.2 },
  ...{ offeredPerS: 901, shedPerS: 17, failedPerS: 0 },
})
const reportsTo = (peer: string): LoadReports => new LoadReports(checkPeers('reportLoadTo', [peer])!, figures)

function answer(onto?: LoadReports): void {
  const request = new IncomingMessage(socket)
  request.httpVersionMajor = 1
  request.httpVersionMinor = 1
  const response = new ServerResponse(request)
  response.assignSocket(socket)
  onto?.onto(request, response)
  response.setHeader('content-type', 'text/plain')
  response.end('ok')
  response.detachSocket(socket)
}

function ownAnswers(reports?: LoadReports): OwnAnswers {
  const body = { type: 'application/problem+json', text: SHED_PROBLEM.text }
  return new OwnAnswers({ retryAfterS: [1, 5], headers: {}, body, page: HTML_PAGE, pressure: () => 0.5, reports })
}

function shedWith(answers: OwnAnswers): () => void {
  const connection = { socket, startIdleTimeout() {} } as never
  const kind = { preflight: false, page: false, head: false, keepAlive: true }
  return () => answers.shedAtSocket(connection, kind, { keepAliveTimeout: 5000 } as never, now(), true)
}

function make(): () => void {
  const { processGate } = new RequestPath(new Server(), {
    ...{ guard: {}, limiter: limiterOf(undefined), answers: ownAnswers(), tuning: GATE_TUNING },
    onFailure: error => {
      throw error
    },
  })
  return () => void loadReport({ ...figures(), ...processGate.loadFigures(now()) })
}

const stranger = reportsTo('10.0.0.1')
const beyond = reportsTo('127.0.0.1')
let first = reportsTo('127.0.0.1')
let told = 0
const CASES: Readonly<Record<string, () => () => void>> = {
  answer: () => () => answer(),
  told: () => () => {
    // A LoadReports puts reports on at most 100 answers in a tenth of a second, so it is replaced after 100.
    if (++told % 100 === 0) first = reportsTo('127.0.0.1')
    answer(first)
  },
  beyond: () => () => answer(beyond),
  stranger: () => () => answer(stranger),
  shed: () => shedWith(ownAnswers()),
  shedTold: () => shedWith(ownAnswers(reportsTo('127.0.0.1'))),
  made: make,
}

function usOf(act: () => void): number {
  for (let i = 0; i < FIRST; i++) act()
  const before = process.cpuUsage()
  for (let i = 0; i < TIMES; i++) act()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / TIMES
}

const { case: chosen } = options.values
if (chosen !== undefined) {
  console.log(usOf(CASES[chosen]!()))
} else {
  const found = new Map<string, number[]>(Object.keys(CASES).map(name => [name, []]))
  for (let round = 0; round < options.whole('rounds'); round++) {
    for (const [name, us] of found) {
      us.push(Number(execFileSync(process.execPath, [import.meta.filename, '--case', name], { encoding: 'utf8' })))
    }
  }
  const median = (name: string): number =>
    found.get(name)!.sort((a, b) => a - b)[Math.floor(found.get(name)!.length / 2)]!
  for (const name of found.keys()) console.log(`${name.padEnd(9)} ${median(name).toFixed(3)} us`)
  for (const rate of [100, 1000, 10_000, 40_000]) {
    const withReport = Math.min(rate, TOLD_PER_S)
    const answers =
      withReport * (median('told') - median('answer')) + (rate - withReport) * (median('beyond') - median('answer'))
    const sheds = rate * (median('shedTold') - median('shed'))
    const share = (us: number): string => `${((us + MADE_PER_S * median('made')) / 1e4).toFixed(2)} %`
    console.log(`at ${rate}/s: answers ${share(answers)} of a core, sheds ${share(sheds)}`)
  }
}
