/**
 * Converts a plan to a k6 script, for load from many machines. A VU of k6 corresponds to a connection here: it waits
 * for one answer. A comment in the script says what k6 cannot do. Pure.
 */
import type { LoadPlan, LoadTarget } from '../load/plan.ts'
import { hasFields } from '../load/prepare.ts'
import { ratesOf } from '../load/schedule.ts'
import { loadInWords } from '../report/attack-words.ts'
import { UserError } from '../user-error.ts'

/** k6 takes whole numbers of arrivals per unit of time. */
const TIME_UNITS_S = [1, 10, 100, 1000] as const

/** Options without a counterpart in k6, whose request timeout includes connecting. Journeys are rejected before. */
type NotK6s = 'journey' | 'connectTimeoutMs' | 'sloMs' | 'threads' | 'acknowledged'
type Placed = keyof LoadTarget | 'arrival' | 'connections' | 'timeoutMs' | 'others' | 'templated' | 'tls' | 'http2'
/**
 * Compilation fails if a new part of a plan is listed in neither type, because the script would then send a different
 * load.
 */
type Unplaced = Exclude<keyof LoadPlan, Placed | NotK6s>
true satisfies [Unplaced] extends [never] ? true : Unplaced

export function k6Script(plan: LoadPlan): string {
  const { url, method, headers, body, arrival, connections, timeoutMs, others, tls, http2 } = plan
  if ((others?.length ?? 0) > 0) throw new UserError('--export k6 takes one URL: k6 cannot send requests round robin.')
  if (http2 !== undefined) {
    throw new UserError('--export k6 and --http2 exclude each other: k6 uses HTTP/2 if a server offers it over TLS.')
  }
  if (hasFields(plan))
    throw new UserError('--export k6 supports no fields like {{seq}}: remove them, and edit the script.')
  if (typeof body === 'object') throw new UserError('--export k6 needs a text body.')
  const options = {
    scenarios: { load: scenarioOf(plan) },
    // The script does not read bodies.
    discardResponseBodies: true,
    ...(connections.kind === 'fresh' ? { noConnectionReuse: true } : {}),
    ...(tls?.insecure === true ? { insecureSkipTLSVerify: true } : {}),
    summaryTrendStats: ['min', 'avg', 'med', 'p(90)', 'p(95)', 'p(99)', 'p(99.9)', 'max'],
  }
  const params = {
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value].flat().join(', ')])),
    timeout: `${timeoutMs}ms`,
    redirects: 0,
  }
  const thinkMs = arrival.kind === 'closed' ? arrival.thinkMs : 0
  return [
    `// ${loadInWords(plan)}, as meltlab attack would send it. Run: k6 run this-file.js`,
    ...differencesFromK6(plan).map(sentence => `// ${sentence}`),
    ...(thinkMs > 0 ? ['import { sleep } from "k6"'] : []),
    'import http from "k6/http"',
    '',
    `export const options = ${JSON.stringify(options, null, 2)}`,
    '',
    `const params = ${JSON.stringify(params, null, 2)}`,
    '',
    'export default function () {',
    `  http.request(${JSON.stringify(method)}, ${JSON.stringify(url)}, ${JSON.stringify(body ?? null)}, params)`,
    ...(thinkMs > 0 ? [`  sleep(${thinkMs / 1000} * (0.5 + Math.random()))`] : []),
    '}',
    '',
  ].join('\n')
}

function scenarioOf({ arrival, connections, timeoutMs }: LoadPlan): Readonly<Record<string, unknown>> {
  // The last requests have the full timeout for their answers.
  const gracefulStop = `${timeoutMs}ms`
  if (arrival.kind === 'closed') {
    return { executor: 'constant-vus', vus: arrival.users, duration: `${arrival.durationMs}ms`, gracefulStop }
  }
  const { phases } = arrival.schedule
  const highest = Math.max(...phases.flatMap(ratesOf))
  // At most this number of requests can wait at the same time, because each ends within its timeout.
  const waiting = Math.max(1, Math.ceil((highest * timeoutMs) / 1000))
  const { count, max } = connections.kind === 'fresh' ? { count: waiting, max: waiting } : connections
  const maxVUs = Math.min(max, waiting)
  const vus = { preAllocatedVUs: Math.min(Math.max(1, count), maxVUs), maxVUs, gracefulStop }
  const unit = unitOf(phases.flatMap(ratesOf))
  const rate = (perSecond: number): number => Math.round(perSecond * unit)
  const [first] = phases
  if (phases.length === 1 && first!.kind === 'constant') {
    const { durationMs } = first!
    const steady = { rate: rate(first!.rate), timeUnit: `${unit}s`, duration: `${durationMs}ms` }
    return { executor: 'constant-arrival-rate', ...steady, ...vus }
  }
  const stages = phases.flatMap(phase => {
    const [from, to] = ratesOf(phase)
    // The first of the two stages jumps to the rate at which the phase begins.
    return [
      { target: rate(from), duration: '0s' },
      { target: rate(to), duration: `${phase.durationMs}ms` },
    ]
  })
  return {
    executor: 'ramping-arrival-rate',
    startRate: rate(ratesOf(first!)[0]),
    timeUnit: `${unit}s`,
    stages: stages.slice(1),
    ...vus,
  }
}

/** The time unit, in seconds, in which all rates are whole numbers; the longest if none fits. */
function unitOf(rates: readonly number[]): number {
  const whole = (value: number): boolean => Math.abs(value - Math.round(value)) < 1e-9 * value
  return TIME_UNITS_S.find(unit => rates.every(each => whole(each * unit))) ?? TIME_UNITS_S.at(-1)!
}

function differencesFromK6({ arrival, headers, connections, tls }: LoadPlan): string[] {
  return [
    'k6 counts latency from when a request is sent, not from when it was due; it has no SLO.',
    ...(arrival.kind === 'open' && arrival.schedule.spacing === 'poisson'
      ? ['k6 spaces arrivals evenly, not at random.']
      : []),
    ...(arrival.kind === 'open' && connections.kind === 'keep-alive'
      ? ['k6 opens a connection when a VU needs its first, not all of them before the start.']
      : []),
    ...(tls?.ca !== undefined || tls?.cert !== undefined
      ? ['k6 reads certificates from its option tlsAuth, and further authorities from the system.']
      : []),
    ...(Object.values(headers).some(value => typeof value !== 'string')
      ? ['k6 sends a header once: values of one given twice are joined by commas.']
      : []),
  ]
}
