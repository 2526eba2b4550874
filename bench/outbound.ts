/**
 * Measures false and missed timeouts of outbound calls while the process itself stalls, per client: with the timeout
 * that the client offers, and bounded by meltproof. Also measures the cost of the bounds per call.
 *
 *   node bench/outbound.ts [--rounds 20] [--only fetch,undici,...,cost]
 *
 * False: the dependency answers in 50 ms, the limit is 200 ms, and the loop is blocked for 300 ms in an I/O callback;
 * 25 calls a round. Missed: the dependency never answers; in every second round the loop is blocked for 100 ms while
 * the call waits. Needs redis-server (Debian: redis-server); PostgreSQL comes from npm. With --only, the other results
 * stay. Writes bench/results/outbound.json, docs/benchmarks-outbound.md and docs/costs.md.
 *
 * Bars: 0 false timeouts of 500 per client; all true timeouts are reported, within 20 ms plus the extension by stalls.
 */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from '../packages/lab/src/launch/free-port.ts'
import { scriptOptions } from '../scripts/script-options.ts'
import { type Conditions, conditions } from './lib/conditions.ts'
import type { CallCost } from './lib/cost-sections.ts'
import { median } from './lib/measured-server.ts'
import type { ArmResult } from './lib/outbound-arm.ts'
import { type Arm, type Backends, CLIENTS } from './lib/outbound-clients.ts'
import { startPostgres } from './lib/postgres.ts'
import { writeCosts } from './lib/write-costs.ts'

interface Measured extends Conditions {
  /** Missing in older results. */
  readonly rounds?: number
  readonly own: string
  readonly bare: ArmResult
  readonly meltproof: ArmResult
}

interface Results {
  readonly clients: Record<string, Measured>
  readonly cost: Record<string, CallCost>
}

const ARMS: readonly Arm[] = ['bare', 'meltproof']
const COST_OF = ['fetch', 'undici', 'node:http']
const COST_ROUNDS = 7

const options = scriptOptions(import.meta.filename, {
  rounds: { type: 'string', default: '20' },
  only: { type: 'string' },
})
const rounds = options.whole('rounds')
const parts = [...Object.keys(CLIENTS), 'cost']
const only = options.chosen('only', parts)
const lib = join(import.meta.dirname, 'lib')
const file = join(import.meta.dirname, 'results/outbound.json')
const results: Results = existsSync(file)
  ? (JSON.parse(readFileSync(file, 'utf8')) as Results)
  : { clients: {}, cost: {} }
const stops: (() => unknown)[] = []
try {
  const backends = await startBackends()
  for (const [name, { own }] of Object.entries(CLIENTS)) {
    if (!only.includes(name)) continue
    const measure = async (arm: Arm): Promise<ArmResult> =>
      JSON.parse(await node('outbound-arm.ts', name, arm, JSON.stringify(backends), String(rounds))) as ArmResult
    const arms: Record<Arm, ArmResult> = { bare: await measure('bare'), meltproof: await measure('meltproof') }
    results.clients[name] = { ...conditions(), rounds, own, ...arms }
    for (const arm of ARMS) {
      const { falseTimeouts, lateCalls, reported, neverCalls, overrunMs, otherErrors } = arms[arm]
      console.log(
        `${name}, ${arm}: ${falseTimeouts} of ${lateCalls} false, ${reported} of ${neverCalls} true ones reported, ` +
          `late by ${overrunMs.p50} ms (p50), ${overrunMs.p99} (p99), ${overrunMs.max} (max) ${otherErrors.join('; ')}`,
      )
    }
    save()
  }
  if (only.includes('cost')) {
    for (const name of COST_OF) {
      const rounds: Record<Arm, number>[] = []
      for (let round = 0; round < COST_ROUNDS; round++) {
        const pair = { bare: 0, meltproof: 0 }
        // The order changes from round to round, so that a machine whose speed drifts favours neither arm.
        for (const arm of round % 2 === 0 ? ARMS : ARMS.toReversed()) {
          pair[arm] = Number(await node('outbound-cost.ts', name, arm, `${backends.http}/now`, '10000'))
        }
        rounds.push(pair)
      }
      results.cost[name] = {
        ...conditions(),
        rounds: COST_ROUNDS,
        bareUs: median(rounds.map(pair => pair.bare)),
        meltproofUs: median(rounds.map(pair => pair.meltproof)),
        ratio: median(rounds.map(pair => pair.meltproof / pair.bare)),
      }
      const { bareUs, meltproofUs, ratio } = results.cost[name]
      console.log(`${name}: ${bareUs.toFixed(1)} us bare, ${meltproofUs.toFixed(1)} us bounded, ${ratio.toFixed(3)}`)
      save()
    }
  }
  save()
} finally {
  for (const stop of stops) await stop()
}
process.exit()

/** Asynchronous, because PostgreSQL stops once the pipe of its log is full and this process does not read it. */
async function node(script: string, ...args: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [join(lib, script), ...args])
  return stdout.trim()
}

async function startBackends(): Promise<Backends> {
  const redisPort = only.includes('ioredis') ? await startRedis() : 0
  const dependency = spawn(process.execPath, [join(lib, 'late-dependency.ts'), String(redisPort)], {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  })
  stops.push(() => dependency.kill())
  const [said] = (await once(dependency.stdout!, 'data')) as [Buffer]
  const [port, redisLatePort, redisNeverPort] = JSON.parse(said.toString()) as [number, number, number]
  const postgres = only.includes('pg') ? await startPostgres() : undefined
  stops.push(() => postgres?.stop())
  return { http: `http://127.0.0.1:${port}`, redisLatePort, redisNeverPort, postgres: postgres?.url ?? '' }
}

async function startRedis(): Promise<number> {
  const port = await freePort()
  const redis = spawn('redis-server', ['--port', String(port), '--save', ''], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  stops.push(() => redis.kill())
  for await (const chunk of redis.stdout!) if (String(chunk).includes('Ready to accept')) break
  return port
}

function save(): void {
  writeFileSync(file, `${JSON.stringify(results, null, 2)}\n`)
  writeFileSync(join(import.meta.dirname, '../docs/benchmarks-outbound.md'), document())
  if (Object.keys(results.cost).length > 0) writeCosts()
}

function document(): string {
  const where = (c: Conditions): string => `${c.date}, Node ${c.node}, ${c.cores} cores of ${c.cpu}, Linux ${c.kernel}`
  const loads = Object.values(results.clients).map(({ loadBefore }) => loadBefore)
  const busy =
    Math.max(...loads) > 1
      ? `\n\n**The machine was not quiet**: load average before each of them ${Math.min(...loads)} to ${Math.max(...loads)}, on ${conditions().cores} cores. ` +
        'The counts are valid; delays are longer than on a quiet machine, for both.'
      : ''
  const places = [...new Set(Object.values(results.clients).map(where))]
  const row = (name: string, { own, bare, meltproof }: Measured): string =>
    `| ${name} | \`${own}\` | ${bare.falseTimeouts} of ${bare.lateCalls} | ${meltproof.falseTimeouts} of ${meltproof.lateCalls} | ` +
    `${bare.reported} of ${bare.neverCalls} | ${meltproof.reported} of ${meltproof.neverCalls} | ` +
    `${bare.overrunMs.p50} / ${bare.overrunMs.max} | ${meltproof.overrunMs.p50} / ${meltproof.overrunMs.max} |`
  return `# Outbound calls: benchmarks

Written by \`node bench/outbound.ts\` from \`bench/results/outbound.json\`; not by hand. ${places.join('; ')}.${busy}

## False and missed timeouts during the process's own stalls

The limit is 200 ms. *False*: the dependency answers in 50 ms, and the process's loop is blocked for 300 ms in an I/O callback.
*True*: the dependency never answers; every second round the loop is blocked for 100 ms meanwhile. *Late*: how long
after the limit it is reported, median and worst; for meltproof's ioredis and pg, whose limits are extended by every stall, without
the stalls that the error reports. The HTTP clients are limited by \`install({ totalMs: 200 })\`; ioredis and pg by \`bound()\` of
\`meltproof/ioredis\` and \`meltproof/pg\`.

| client | its own timeout | false, own | false, meltproof | true, own | true, meltproof | late, own (ms) | late, meltproof (ms) |
| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |
${Object.entries(results.clients)
  .map(([name, measured]) => row(name, measured))
  .join('\n')}

What it costs: [costs](costs.md#an-outbound-call).
`
}
