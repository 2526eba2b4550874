/**
 * Breaks a demo shop on purpose and follows docs/on-call.md. Prints the shipped alerts that a real Prometheus fires
 * (with seconds in place of minutes), which part is slow, the text of /explain, and the result of the same load with
 * MELTPROOF=off. Needs `prometheus` on the PATH. `memory` runs in a memory cgroup of 256 MiB, which needs root.
 *
 *   node bench/on-call.ts [--only loop,dependency,memory]     half a minute for each load
 */
import { join } from 'node:path'
import { makeContext } from '../packages/lab/src/experiment/context.ts'
import { freePort } from '../packages/lab/src/launch/free-port.ts'
import { allowedCores, coresOf } from '../packages/lab/src/launch/core-pinning.ts'
import { registerUrl } from '../packages/lab/src/launch/register-url.ts'
import { progressOn } from '../packages/lab/src/progress.ts'
import { shippedAlerts } from '../packages/lab/src/scenarios/shipped-alerts.ts'
import { scriptOptions } from '../scripts/script-options.ts'
import { MemoryGroup } from './lib/memory-group.ts'

/** Requests per second of the quick page and of the expensive one, and the options of the expensive requests. */
const LOADS = {
  loop: [100, 14, {}],
  dependency: [40, 1, {}],
  memory: [20, 40, { method: 'POST', body: Buffer.alloc(1024 * 1024, 'b') }],
} as const
type Broken = keyof typeof LOADS

const APP = join(import.meta.dirname, 'lib/on-call-app.mjs')
const LOAD_MS = 25_000
const LOOK_AFTER_MS = 18_000

const { chosen } = scriptOptions(import.meta.filename, { only: { type: 'string' } })
const stop = new AbortController()
process.on('SIGINT', () => stop.abort(new Error('stopped by Ctrl-C')))
for (const broken of chosen('only', Object.keys(LOADS) as Broken[])) {
  for (const isOn of [true, false]) await runIncident(broken, isOn)
}

async function runIncident(broken: Broken, isOn: boolean): Promise<void> {
  const { context, end } = makeContext({
    ...{ form: 'full', signal: stop.signal },
    ...{ progress: progressOn(process.stderr), cores: coresOf(allowedCores()) },
  })
  const group = broken === 'memory' ? new MemoryGroup('meltproof-on-call', 256 * 1024 * 1024) : undefined
  const command = [process.execPath, APP, broken]
  try {
    const admin = await freePort()
    const app = await context.start({
      name: `the shop, ${broken}`,
      run: group === undefined ? command : group.running(command).flat(),
      core: 'server',
      env: {
        MELTPROOF: isOn ? 'on' : 'off',
        MELTPROOF_ADMIN: `127.0.0.1:${admin}`,
        MELTPROOF_CULPRIT: 'on',
      },
      nodeOptions: `--import ${registerUrl()}`,
    })
    const alerts = isOn ? await shippedAlerts(context, admin) : undefined
    if (typeof alerts === 'string') throw new Error(alerts)
    const load = (path: string, rate: number, how: object) =>
      context.load(`${broken} ${path}`, {
        ...{ url: `${app.origin}${path}`, rate, durationMs: LOAD_MS, timeoutMs: 10_000 },
        ...how,
      })
    const [quick, expensive, how] = LOADS[broken]
    const loading = Promise.all([load('/', quick, {}), load('/invoices', expensive, how)])
    const page = async (path: string): Promise<string> => (await fetch(`http://127.0.0.1:${admin}${path}`)).text()
    const looks = isOn ? context.sample(200, () => page('/explain')) : undefined
    await context.sleep(LOOK_AFTER_MS)
    const seen = (await looks?.stop()) ?? []
    console.log(`\n${broken}, MELTPROOF=${isOn ? 'on' : 'off'}`)
    if (alerts !== undefined) {
      console.log(`1. fires: ${(await alerts.firing()).join(', ') || 'nothing'}`)
      console.log(`2. slow requests: ${slowBy(await page('/metrics'))}`)
      console.log(`3. and 4. ${(await page('/explain')).trim()}`)
      const full = seen.findLast(({ value }) => value.includes("container's memory"))
      if (full !== undefined) console.log(`in between: ${full.value.trim()}`)
      console.log(`shed: ${JSON.stringify(JSON.parse(await page('/stats')).shed)}`)
      console.log(app.lastWords())
    }
    const [{ good, okLatency }] = await loading
    console.log(
      `5. ${(good / (LOAD_MS / 1000)).toFixed(1)} good/s of ${quick}/s, p99 ${okLatency.percentile(99).toFixed(0)} ms; the process ${app.ended() ?? 'goes on'}`,
    )
  } finally {
    await end()
    await group?.remove()
  }
}

function slowBy(metrics: string): string {
  const found = metrics.matchAll(/^meltproof_slow_requests_total\{[^}]*verdict="(\w+)"[^}]*\} (\S+)/gm)
  return [...found].map(([, verdict, count]) => `${verdict} ${count}`).join(', ')
}
