/** An alert on latency fires for every cause; a verdict names the cause, and so do the alerts that meltproof ships. */
import { type Context, type RunningApp, type Scenario, scenario } from '../experiment/scenario.ts'
import { seededRandom } from '../load/random.ts'
import { type BlameMeasured, CAUSES, type Cause, type Estimate, type Verdict } from './blame-figures.ts'
import { arms, blameExpects, blamePublished, blameView } from './blame-view.ts'
import { shippedAlerts } from './shipped-alerts.ts'

interface Seen extends Omit<Estimate, 'claims'> {
  readonly verdict: Verdict
}

/** The usual duration of an operation, and the slowness added to it, ms. */
const usualMs = 100
const injectedMs = 250
/** Maximum number of healthy operations during which the alerts of the previous cause may stop. */
const mostHealthy = 200

export const blame: Scenario<unknown> = scenario<BlameMeasured>({
  name: 'blame',
  title: 'Who was slow?',
  story:
    'A stall of the loop, a slow dependency, a slow network and slow work look the same to an alert on latency; a verdict tells them apart.',
  published: blamePublished,
  arms,
  expects: blameExpects,
  blank: () => ({ operations: [], alerts: [], alertsMissing: null, estimates: [] }),
  async run(context, measured) {
    const dependency = await context.start({
      name: 'the dependency',
      run: 'blame-dependency.js',
      core: 'dependency',
      env: { DELAY_MS: String(injectedMs) },
    })
    const { port: wayPort } = await dependency.ask<{ port: number }>('/way')
    const service = await context.start({ name: 'the service', run: 'blame-service.js', core: 'server' })
    const { port: metricsPort } = await service.ask<{ port: number }>('/metrics-port')
    const times = context.pick({ brief: 4, quick: 40, full: 250 })
    const port = portOf(dependency)
    const alerts = await shippedAlerts(context, metricsPort)
    if (typeof alerts === 'string') {
      measured.alertsMissing = alerts
      context.line(`the shipped alerts are left out: ${alerts}`)
    }
    for (const cause of CAUSES) {
      for (let n = 0; n <= times; n++) {
        context.status(`injecting ${cause}: ${n} of ${times}`)
        const { latencyMs, seen } = await operate(context, service, injection(cause, port, wayPort, n))
        // The first operation of a phase only opens connections.
        if (n > 0 && seen !== undefined) measured.operations.push({ cause, latencyMs, verdict: seen.verdict })
      }
      if (typeof alerts === 'string') continue
      measured.alerts.push({ cause, firing: await alerts.firing() })
      context.status(`healthy again after ${cause}`)
      for (let n = 0; n < mostHealthy && (await alerts.firing()).length > 0; n++) {
        await operate(context, service, injection('nothing', port, wayPort, n))
      }
    }
    const random = seededRandom(1)
    const between = (low: number, high: number): number => Math.round(low + random() * (high - low))
    for (let n = 0; n < 2 * times; n++) {
      context.status(`estimating what a call took while the loop stalls: ${n} of ${2 * times}`)
      const claims = n % 2 === 0
      // Two calls in three meet a stall, which begins at any time during or after the call.
      const stall = random() < 2 / 3 ? { block: between(20, 150), at: between(0, 80) } : {}
      const call = { port, took: between(20, 80), ...stall, ...(claims ? { claims: 1 } : {}) }
      const { seen } = await operate(context, service, call)
      if (seen !== undefined) measured.estimates.push({ claims, ...seen })
    }
  },
  view: blameView,
})

const portOf = (app: RunningApp): number => Number(new URL(app.origin).port)

/** The cause `self` alternates between computing and waiting for a timer. */
function injection(cause: Cause, port: number, wayPort: number, n: number): Readonly<Record<string, number>> {
  const usual = { port: cause === 'network' ? wayPort : port, took: usualMs, claims: 1 }
  if (cause === 'dependency') return { ...usual, took: usualMs + injectedMs }
  if (cause === 'loop') return { ...usual, block: usualMs + injectedMs, at: 20 }
  if (cause === 'self') return { ...usual, [n % 2 === 0 ? 'compute' : 'wait']: injectedMs }
  return usual
}

/** Sends one operation, and reads what the service recorded about it. */
async function operate(
  { signal }: Context,
  service: RunningApp,
  query: Readonly<Record<string, number>>,
): Promise<{ readonly latencyMs: number; readonly seen: Seen | undefined }> {
  signal.throwIfAborted()
  const words = Object.entries(query).map(([name, value]) => `${name}=${value}`)
  const started = performance.now()
  const answer = await fetch(`${service.origin}/op?${words.join('&')}`, { signal })
  await answer.text()
  const latencyMs = performance.now() - started
  const [seen] = await service.ask<Seen[]>('/seen')
  return { latencyMs, seen }
}
