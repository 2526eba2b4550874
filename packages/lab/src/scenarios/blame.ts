/** An alert on a client's latency fires whoever was slow; a verdict names the one who was. */
import { formatMs } from '../report/format.ts'
import type { ScenarioArm, View } from '../report/result.ts'
import {
  ALERT_ABOVE_MS,
  CAUSES,
  type Cause,
  meanLatency,
  naiveAlertFires,
  namedCulprit,
  type Operation,
  VERDICTS,
  type Verdict,
  verdictCounts,
} from './blame-figures.ts'
import { type Context, type Expectation, type RunningApp, type Scenario, scenario } from '../experiment/scenario.ts'

interface Measured {
  readonly operations: Operation[]
}

/** An operation of about 100 ms, and what makes it slow, ms. */
const usualMs = 100
const injectedMs = 250
const injected: readonly Cause[] = CAUSES.filter(cause => cause !== 'nothing')

const arms: readonly ScenarioArm[] = [
  { name: 'latency alone', kind: 'bare', what: `an alert on sustained latency above ${ALERT_ABOVE_MS} ms` },
  { name: 'meltproof', kind: 'protected', what: 'the verdict of each RequestRecord' },
]

export const blame: Scenario<unknown> = scenario<Measured>({
  name: 'blame',
  title: 'Who was slow?',
  story:
    'A stall of the loop, a slow dependency and a slow network look the same to an alert on latency; a verdict tells them apart.',
  published: [
    { what: 'the worked case', value: 'an operation of about 100 ms, an alert on sustained latency above 250 ms' },
    { what: 'what its firing means', value: 'nobody can say: queue, process and dependency are in one number' },
  ],
  arms,
  expects: expectations(),
  blank: () => ({ operations: [] }),
  async run(context, measured) {
    const dependency = await context.start({
      name: 'the dependency',
      run: 'blame-dependency.js',
      core: 'dependency',
      env: { DELAY_MS: String(injectedMs) },
    })
    const { port: wayPort } = await dependency.ask<{ port: number }>('/way')
    const service = await context.start({ name: 'the service', run: 'blame-service.js', core: 'server' })
    const times = context.pick({ brief: 4, quick: 40, full: 250 })
    for (const cause of CAUSES) {
      await operate(context, { service, port: portOf(dependency), wayPort, cause, times }, measured)
    }
  },
  view,
})

const portOf = (app: RunningApp): number => Number(new URL(app.origin).port)

interface Phase {
  readonly service: RunningApp
  readonly port: number
  readonly wayPort: number
  readonly cause: Cause
  readonly times: number
}

/** One operation after the other, as a client does; the first of a phase only makes connections. */
async function operate(context: Context, phase: Phase, measured: Measured): Promise<void> {
  const { service, cause, times } = phase
  const query = new URLSearchParams({
    port: String(cause === 'network' ? phase.wayPort : phase.port),
    took: String(usualMs + (cause === 'dependency' ? injectedMs : 0)),
    block: String(cause === 'loop' ? usualMs + injectedMs : 0),
  })
  for (let n = 0; n <= times; n++) {
    context.signal.throwIfAborted()
    context.status(`injecting ${cause}: ${n} of ${times}`)
    const started = performance.now()
    const answer = await fetch(`${service.origin}/op?${query}`, { signal: context.signal })
    await answer.text()
    const latencyMs = performance.now() - started
    const [record] = await service.ask<{ verdict: Verdict }[]>('/seen')
    if (n > 0 && record !== undefined) measured.operations.push({ cause, latencyMs, verdict: record.verdict })
  }
}

const of = ({ operations }: Measured, cause: Cause): Operation[] => operations.filter(each => each.cause === cause)

function rightShare(measured: Measured): number {
  const bad = measured.operations.filter(({ cause }) => cause !== 'nothing')
  return bad.filter(({ cause, verdict }) => cause === verdict).length / bad.length
}

function expectations(): readonly Expectation<Measured>[] {
  const complete = (measured: Measured): boolean => CAUSES.every(cause => of(measured, cause).length > 0)
  return [
    {
      name: 'latency alone: the alert fires for all three alike, and not for the healthy service',
      judge: measured => {
        if (!complete(measured)) return undefined
        const fires = CAUSES.map(cause => naiveAlertFires(of(measured, cause)))
        return {
          pass: fires.join() === 'false,true,true,true',
          measured: CAUSES.map(cause => `${cause} ${formatMs(meanLatency(of(measured, cause)))}`).join(', '),
        }
      },
    },
    {
      name: 'meltproof: the correlated alert names the right one each time',
      needsQuiet: false,
      judge: measured => {
        if (!complete(measured)) return undefined
        const named = injected.map(cause => namedCulprit(of(measured, cause)))
        return {
          pass: named.join() === injected.join(),
          measured: `injected ${injected.join(', ')}; named ${named.join(', ')}`,
        }
      },
    },
    {
      name: 'meltproof: at least 99 % of the single verdicts are right',
      judge: measured => {
        if (!complete(measured)) return undefined
        const share = rightShare(measured)
        return { pass: share >= 0.99, measured: `${(share * 100).toFixed(1)} %` }
      },
    },
  ]
}

function view(measured: Measured): View {
  const there = CAUSES.filter(cause => of(measured, cause).length > 0)
  const bad = there.filter(cause => cause !== 'nothing')
  return {
    finding:
      bad.length < injected.length
        ? `${measured.operations.length} operations were measured before the end.`
        : `The alert on latency fires for ${bad.filter(cause => naiveAlertFires(of(measured, cause))).length} of ${bad.length} causes alike; the verdict is right for ${(rightShare(measured) * 100).toFixed(1)} % of ${measured.operations.length - of(measured, 'nothing').length} operations.`,
    plots: [
      {
        kind: 'bars',
        title: 'Mean latency as the client sees it',
        y: { label: 'latency', unit: 'ms' },
        groups: there.map(cause => ({
          label: cause,
          bars: [{ arm: 'latency alone', value: meanLatency(of(measured, cause)) }],
        })),
        levels: [{ value: ALERT_ABOVE_MS, name: 'alert' }],
      },
      {
        kind: 'bars',
        title: 'Verdicts that name what was injected',
        y: { label: 'right', unit: 'percent' },
        groups: bad.map(cause => ({
          label: cause,
          bars: [
            {
              arm: 'meltproof',
              value:
                (100 * of(measured, cause).filter(each => each.verdict === cause).length) / of(measured, cause).length,
            },
          ],
        })),
      },
    ],
    tables: [
      {
        title: 'What was injected, and what each says',
        columns: ['injected', 'operations', 'mean latency', 'latency alone', ...VERDICTS, 'named'],
        rows: there.map(cause => {
          const operations = of(measured, cause)
          const counts = verdictCounts(operations)
          return {
            cells: [
              cause,
              String(operations.length),
              formatMs(meanLatency(operations)),
              naiveAlertFires(operations) ? 'alert' : 'silent',
              ...VERDICTS.map(verdict => String(counts[verdict])),
              namedCulprit(operations) ?? 'silent',
            ],
          }
        }),
      },
    ],
  }
}
