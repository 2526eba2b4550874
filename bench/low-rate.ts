/**
 * Measures the cost of a request for a process that is mostly idle, like one in a container with a share of a core. Its
 * code is cold: a request, and each function that meltproof calls, costs many times as much as under full load
 * (bench/overhead.ts). Servers that answer hello run side by side on one core, and the load alternates between them.
 * The CPU of each server per request comes from its own turns, and its CPU at rest from the turns of the others. Arms:
 * bare, under register, and under register with one more feature. Build first.
 *
 *   node bench/low-rate.ts [--rate 100] [--turns 30] [--arms bare,protected,...] [--dry]
 *
 * Writes bench/results/low-rate.json and the table in docs/fleet.md, unless --dry or with --arms. About six minutes.
 */
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../packages/lab/src/launch/free-port.ts'
import { registerUrl } from '../packages/lab/src/launch/register-url.ts'
import { runLoad } from '../packages/lab/src/load/run.ts'
import { writeWhole } from '../packages/lab/src/write-whole.ts'
import { scriptOptions } from '../scripts/script-options.ts'
import { checkAgent } from './lib/agent-checks.ts'
import { conditions } from './lib/conditions.ts'
import { type Arm, type ArmCost, ARMS, type LowRate, lowRateTable } from './lib/low-rate-figures.ts'
import { type MeasuredServer, median, plan, startServer } from './lib/measured-server.ts'
import { putTable } from './lib/page-table.ts'
import { resultFile } from './lib/parts.ts'
import { quantile } from './lib/quantile.ts'

const options = scriptOptions(import.meta.filename, {
  rate: { type: 'string', default: '100' },
  turns: { type: 'string', default: '30' },
  arms: { type: 'string' },
  dry: { type: 'boolean', default: false },
})
const rate = options.whole('rate')
const turns = options.whole('turns')
const arms = options.chosen('arms', ARMS)
const where = conditions()
const page = join(import.meta.dirname, '../docs/fleet.md')
const TURN_S = 1.5
/** The first turns are left out of the figures, because V8 compiles in them. */
const SETTLES = 4

interface Running {
  readonly arm: Arm
  readonly server: MeasuredServer
  readonly requestUs: number[]
  readonly idleMsPerS: number[]
}

const agentPort = await freePort()
const env: Readonly<Record<Arm, Readonly<Record<string, string>>>> = {
  bare: {},
  protected: {},
  limit: { MELTPROOF_LIMIT: '10000' },
  reports: { MELTPROOF_REPORT_LOAD_TO: '127.0.0.1' },
  agent: { MELTPROOF_HAPROXY_AGENT: `127.0.0.1:${agentPort}` },
  metrics: { MELTPROOF_ADMIN: `127.0.0.1:${await freePort()}` },
}

async function start(arm: Arm): Promise<Running> {
  const script = join(import.meta.dirname, 'lib/low-rate-server.mjs')
  const server = await startServer(script, [], arm === 'bare' ? [] : ['--import', registerUrl()], env[arm])
  return { arm, server, requestUs: [], idleMsPerS: [] }
}

/** Loads one server, and reads the CPU of all servers before and after. The others only get the checks of `agent`. */
async function turn(asked: Running, all: readonly Running[]): Promise<void> {
  const before = await Promise.all(all.map(({ server }) => server.cpuUs()))
  const from = performance.now()
  const { answered } = await runLoad(plan(asked.server.url, { rate, seconds: TURN_S, connections: 50 }))
  const elapsedS = (performance.now() - from) / 1000
  const after = await Promise.all(all.map(({ server }) => server.cpuUs()))
  for (const [at, each] of all.entries()) {
    const usedUs = after[at]! - before[at]!
    if (each === asked) each.requestUs.push(usedUs / (answered['200'] ?? 0))
    else each.idleMsPerS.push(usedUs / 1000 / elapsedS)
  }
}

const running: Running[] = []
const endChecks = arms.includes('agent') ? checkAgent(agentPort) : () => {}
try {
  for (const arm of arms) running.push(await start(arm))
  await sleep(1000)
  for (let round = 0; round < turns; round++) {
    for (const each of round % 2 === 0 ? running : running.toReversed()) await turn(each, running)
  }
} finally {
  endChecks()
  for (const { server } of running) await server.stop()
}
const costs = running.map(({ arm, requestUs, idleMsPerS }): ArmCost => {
  const settled = requestUs.slice(Math.min(SETTLES, requestUs.length - 1))
  const quartilesUs = [quantile(settled, 0.25), quantile(settled, 0.75)] as const
  return { arm, requestUs: median(settled), quartilesUs, idleMsPerS: median(idleMsPerS) }
})
console.table(costs)
const result: LowRate = { ...where, rate, turns, arms: costs }
if (!options.values.dry && options.values.arms === undefined) {
  writeWhole(resultFile('low-rate'), `${JSON.stringify(result, null, 2)}\n`)
  putTable(page, 'low-rate', lowRateTable(result))
}
