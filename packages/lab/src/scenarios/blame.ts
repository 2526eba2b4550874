/** An alert on latency fires for every cause; a verdict names the cause. */
import { formatMs } from '../report/format.ts'
import { seededRandom } from '../load/random.ts'
import type { ScenarioArm, Standing, Table, View } from '../report/result.ts'
import { toneOf } from '../report/standing.ts'
import {
  ALERT_ABOVE_MS,
  CAUSES,
  type Cause,
  type Estimate,
  errorsOf,
  meanLatency,
  naiveAlertFires,
  namedCulprit,
  type Operation,
  VERDICTS,
  type Verdict,
  verdictCounts,
} from './blame-figures.ts'
import { expectation } from '../experiment/expectation.ts'
import { type Context, type Expectation, type RunningApp, type Scenario, scenario } from '../experiment/scenario.ts'

interface Measured {
  readonly operations: Operation[]
  readonly estimates: Estimate[]
}

interface Seen extends Omit<Estimate, 'claims'> {
  readonly verdict: Verdict
}

/** An operation of about 100 ms, and what makes it slow, ms. */
const usualMs = 100
const injectedMs = 250
/** Mean absolute error that an estimate may have, ms. */
const mostOff = (claims: boolean): number => (claims ? 1 : 6)
const injected: readonly Cause[] = CAUSES.filter(cause => cause !== 'nothing')

const arms: readonly ScenarioArm[] = [
  { name: 'latency alone', kind: 'bare', what: `an alert on sustained latency above ${ALERT_ABOVE_MS} ms` },
  { name: 'meltproof', kind: 'protected', what: 'the verdict of each RequestRecord' },
]

export const blame: Scenario<unknown> = scenario<Measured>({
  name: 'blame',
  title: 'Who was slow?',
  story:
    'A stall of the loop, a slow dependency, a slow network and slow work look the same to an alert on latency; a verdict tells them apart.',
  published: [
    { what: 'the worked case', value: 'an operation of about 100 ms, an alert on sustained latency above 250 ms' },
    { what: 'what its firing means', value: 'nobody can say: queue, process and dependency are in one number' },
  ],
  arms,
  expects: expectations(),
  blank: () => ({ operations: [], estimates: [] }),
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
    const port = portOf(dependency)
    for (const cause of CAUSES) {
      for (let n = 0; n <= times; n++) {
        context.status(`injecting ${cause}: ${n} of ${times}`)
        const { latencyMs, seen } = await operate(context, service, injection(cause, port, wayPort, n))
        // The first of a phase only makes connections.
        if (n > 0 && seen !== undefined) measured.operations.push({ cause, latencyMs, verdict: seen.verdict })
      }
    }
    const random = seededRandom(1)
    const between = (low: number, high: number): number => Math.round(low + random() * (high - low))
    for (let n = 0; n < 2 * times; n++) {
      context.status(`estimating what a call took while the loop stalls: ${n} of ${2 * times}`)
      const claims = n % 2 === 0
      // Two calls in three meet a stall, anywhere in or after their time.
      const stall = random() < 2 / 3 ? { block: between(20, 150), at: between(0, 80) } : {}
      const call = { port, took: between(20, 80), ...stall, ...(claims ? { claims: 1 } : {}) }
      const { seen } = await operate(context, service, call)
      if (seen !== undefined) measured.estimates.push({ claims, ...seen })
    }
  },
  view,
})

const portOf = (app: RunningApp): number => Number(new URL(app.origin).port)

/** Work of its own computes one time and waits for a timer the other. */
function injection(cause: Cause, port: number, wayPort: number, n: number): Readonly<Record<string, number>> {
  const usual = { port: cause === 'network' ? wayPort : port, took: usualMs, claims: 1 }
  if (cause === 'dependency') return { ...usual, took: usualMs + injectedMs }
  if (cause === 'loop') return { ...usual, block: usualMs + injectedMs, at: 20 }
  if (cause === 'self') return { ...usual, [n % 2 === 0 ? 'compute' : 'wait']: injectedMs }
  return usual
}

/** One operation after the other, as a client does. */
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

const of = ({ operations }: Measured, cause: Cause): Operation[] => operations.filter(each => each.cause === cause)

function rightShare({ operations }: Pick<Measured, 'operations'>): number {
  const bad = operations.filter(({ cause }) => cause !== 'nothing')
  return bad.filter(({ cause, verdict }) => cause === verdict).length / bad.length
}

function expectations(): readonly Expectation<Measured>[] {
  const complete = (measured: Measured): Measured | undefined =>
    CAUSES.every(cause => of(measured, cause).length > 0) ? measured : undefined
  return [
    expectation(
      'latency alone: the alert fires for all four alike, and not for the healthy service',
      complete,
      measured => [
        CAUSES.every(cause => naiveAlertFires(of(measured, cause)) === (cause !== 'nothing')),
        CAUSES.map(cause => `${cause} ${formatMs(meanLatency(of(measured, cause)))}`).join(', '),
      ],
    ),
    expectation(
      'meltproof: the correlated alert names the right one each time',
      complete,
      measured => {
        const named = injected.map(cause => namedCulprit(of(measured, cause)))
        return [named.join() === injected.join(), `injected ${injected.join(', ')}; named ${named.join(', ')}`]
      },
      { needsQuiet: false },
    ),
    expectation('meltproof: at least 99 % of the single verdicts are right', complete, measured => {
      const share = rightShare(measured)
      const all = measured.operations.filter(({ cause }) => cause !== 'nothing').length
      return [share >= 0.99, `${(share * 100).toFixed(1)} % of ${all} operations`]
    }),
    ...[true, false].map(claims =>
      expectation(
        `meltproof: what a dependency took is known within ${mostOff(claims)} ms on average while the loop stalls, ${claims ? 'with' : 'without'} Server-Timing`,
        ({ estimates }: Measured) => errorsOf(estimates.filter(each => each.claims === claims)),
        ({ mean }) => [mean <= mostOff(claims), `off by ${formatMs(mean)}`],
      ),
    ),
  ]
}

function estimateTable({ estimates }: Measured): Table {
  return {
    title: 'What a dependency of 20 to 80 ms took, while the loop stalls',
    note: 'Mean absolute error against what the dependency measured itself; two calls in three meet a stall of 20 to 150 ms.',
    columns: ['the dependency', 'calls', 'estimate', 'its worst', 'wall time, for comparison'],
    rows: [true, false].flatMap(claims => {
      const those = estimates.filter(each => each.claims === claims)
      const errors = errorsOf(those)
      if (errors === undefined) return []
      const { mean, worst, wall } = errors
      const who = claims ? 'sends Server-Timing' : 'does not'
      return [{ arm: 'meltproof', cells: [who, String(those.length), ...[mean, worst, wall].map(formatMs)] }]
    }),
  }
}

function standings(measured: Measured, bad: readonly Cause[]): readonly Standing[] {
  const fires = bad.filter(cause => naiveAlertFires(of(measured, cause))).length
  const right = rightShare(measured)
  return [
    { arm: 'latency alone', says: 'names no cause', tone: 'bad', figure: `${fires} of ${bad.length}`, of: 'alike' },
    {
      arm: 'meltproof',
      says: 'names the cause',
      tone: toneOf(right),
      figure: `${(100 * right).toFixed(1)} %`,
      of: 'right',
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
    ...(bad.length < injected.length ? {} : { standings: standings(measured, bad) }),
    plots: [
      {
        kind: 'bars',
        title: 'Alerts that name what was injected',
        note: 'An alert on latency fires for all of them and names none.',
        y: { label: 'named rightly', unit: 'percent' },
        groups: bad.map(cause => ({
          label: cause,
          bars: [
            { arm: 'latency alone', value: 0 },
            { arm: 'meltproof', value: 100 * rightShare({ operations: of(measured, cause) }) },
          ],
        })),
      },
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
      ...(measured.estimates.length === 0 ? [] : [estimateTable(measured)]),
    ],
  }
}
