import { makeContext } from '../packages/lab/src/experiment/context.ts'
import { coresOf, allowedCores, pinSelf } from '../packages/lab/src/launch/core-pinning.ts'
import { calibrateSpin, spinVariable } from '../packages/lab/src/launch/machine.ts'
import { cpuGroup } from '../packages/lab/src/scenarios/fleet-cpu.ts'
import { startInstance } from '../packages/lab/src/scenarios/fleet-instance.ts'
const cores = coresOf(allowedCores())!
pinSelf(cores.lab)
const { context, end } = makeContext({ form: 'quick', signal: new AbortController().signal, progress: { status() {}, line() {}, clear() {} }, cores })
try {
  const group = cpuGroup(context, 'x')!
  const i = await startInstance(context, process.argv[3] !== 'bare', { [spinVariable]: String(await calibrateSpin(cores.server)) })
  await context.load('w', { url: i.app.origin + '/', users: 4, durationMs: 1500, warmUp: true })
  group.share(0.07); group.hold(i.app.pid)
  const s = context.sample(1000, async () => (await (await fetch(`http://127.0.0.1:${i.ports.admin}/stats`)).json()))
  const o = await context.load('x', { url: i.app.origin + '/', rate: Number(process.argv[2]), durationMs: 15000, spacing: 'poisson', timeoutMs: 3000 })
  for (const x of o.seconds) console.log(x.second, x.scheduled, 'good', x.good, 'ok', x.okLatency.count, 'p50', Math.round(x.okLatency.percentile(50)), 'shed', x.answered['503'] ?? 0, JSON.stringify(x.failed))
  for (const { atMs, value } of await s.stop().catch(e => [])) console.log(Math.round(atMs), JSON.stringify(value).slice(0, 700))
} finally { await end() }
process.exit()
