/**
 * Expectations of a load run, such as `p99<250ms` or `goodput>=95%`. Every request is one of three: answered 2xx or
 * 3xx, shed (503), or an error, so shares add up to 100 % of the scheduled requests. Latencies are those of 2xx and 3xx
 * answers. Pure.
 */
import { formatDuration, parseDuration } from '../durations.ts'
import { doubtedMs, FIGURES } from '../load/certify.ts'
import type { FigureName, LoadOutcome, LoadPlan } from '../load/plan.ts'
import { loadSeconds } from '../load/schedule.ts'
import type { Judged } from '../report/attack-words.ts'
import { UserError } from '../user-error.ts'

const OPERATORS = {
  '<': (value: number, limit: number): boolean => value < limit,
  '<=': (value: number, limit: number): boolean => value <= limit,
  '>': (value: number, limit: number): boolean => value > limit,
  '>=': (value: number, limit: number): boolean => value >= limit,
} as const

type Operator = keyof typeof OPERATORS

const LATENCIES: Readonly<Record<string, FigureName>> = Object.fromEntries(
  FIGURES.map(({ title, name }) => [title, name]),
)
/** The other metrics, and the units in which each is compared. */
const UNITS = {
  goodput: ['%', '/s'],
  errors: ['%'],
  shed: ['%'],
  failed: ['%', 'requests'],
} as const
type Share = keyof typeof UNITS

export interface Expectation {
  readonly metric: string
  readonly operator: Operator
  readonly limit: number
  readonly unit: Judged['unit']
}

const USAGE =
  `an expectation is a metric, < <= > or >=, and a value with its unit: ${Object.keys(LATENCIES).join(', ')} (p99<250ms), ` +
  'goodput (>=95% or >=900/s), errors (<1%), shed (<5%), failed (<1% or <10)'

/** @throws UserError that lists the metrics when the text is invalid */
export function parseExpectation(text: string): Expectation {
  const match = /^\s*([a-z][\w.]*)\s*(<=|>=|<|>)\s*(\S.*?)\s*$/i.exec(text)
  const metric = match?.[1]?.toLowerCase() ?? ''
  const operator = match?.[2] as Operator
  const isLatency = Object.hasOwn(LATENCIES, metric)
  if (match === null || !(isLatency || Object.hasOwn(UNITS, metric))) {
    throw new UserError(`--expect cannot parse "${text}": ${USAGE}.`)
  }
  const value = match[3]!
  if (isLatency) return { metric, operator, limit: parseDuration(value, `--expect ${metric}`), unit: 'ms' }
  return { metric, operator, ...amount(metric as Share, value, text) }
}

function amount(metric: Share, value: string, text: string): Pick<Expectation, 'limit' | 'unit'> {
  const match = /^(\d+(?:\.\d+)?|\.\d+)\s*(%|\/s|)$/.exec(value)
  const unit = match === null ? undefined : ((match[2] || 'requests') as Judged['unit'])
  const allowed: readonly Judged['unit'][] = UNITS[metric]
  const limit = Number(match?.[1])
  if (unit === undefined || !allowed.includes(unit) || (unit === '%' && limit > 100)) {
    const units = allowed.map(each => EXAMPLES[each])
    throw new UserError(`--expect "${text}": ${metric} is compared with ${units.join(', or with ')}.`)
  }
  return { limit, unit }
}

const EXAMPLES: Readonly<Record<string, string>> = {
  '%': 'percent, such as 95%',
  '/s': 'a rate, such as 900/s',
  requests: 'a number of requests, such as 10',
}

export const expectationText = ({ metric, operator, limit, unit }: Expectation): string =>
  `${metric} ${operator} ${written(limit, unit)}`

export function judge(expectation: Expectation, plan: LoadPlan, outcome: LoadOutcome): Judged {
  const { metric, operator, limit, unit } = expectation
  const value = measure(expectation, plan, outcome)
  const doubt = doubtOf(metric, outcome)
  return {
    expected: expectationText(expectation),
    // An expectation about a missing figure is not met.
    met: !Number.isNaN(value) && OPERATORS[operator](value, limit),
    measured: Number.isNaN(value) ? 'no answer' : inWords(value, unit, limit),
    value: Number.isNaN(value) ? null : value,
    unit,
    ...(doubt === undefined ? {} : { doubt }),
  }
}

function measure({ metric, unit }: Expectation, plan: LoadPlan, outcome: LoadOutcome): number {
  const latency = FIGURES.find(({ title }) => title === metric)
  if (latency !== undefined) return latency.read(outcome.okLatency)
  const { scheduled, okLatency, shedLatency, good, unsent, failed } = outcome
  const withoutAnswer = Object.values(failed).reduce((sum, times) => sum + times, unsent)
  const counts: Readonly<Record<Share, number>> = {
    goodput: good,
    shed: shedLatency.count,
    failed: withoutAnswer,
    errors: scheduled - okLatency.count - shedLatency.count,
  }
  const count = counts[metric as Share]
  if (unit === '%') return scheduled === 0 ? Number.NaN : (100 * count) / scheduled
  return unit === '/s' ? count / loadSeconds(plan, outcome) : count
}

/** Enough digits to distinguish a figure from its limit. */
function inWords(value: number, unit: Judged['unit'], limit = value): string {
  let digits = 4
  while (digits < 12 && value !== limit && Number(value.toPrecision(digits)) === limit) digits++
  const rounded = unit === 'requests' ? value : Number(value.toPrecision(digits))
  return written(rounded, unit)
}

const written = (value: number, unit: Judged['unit']): string =>
  unit === 'ms' ? formatDuration(value) : unit === 'requests' ? `${value}` : `${value}${unit}`

function doubtOf(metric: string, { certified, certificate, okLatency }: LoadOutcome): string | undefined {
  if (certified) return undefined
  const figure = FIGURES.find(({ title }) => title === metric)
  const interval = figure && certificate.intervals.ok?.[figure.name]
  const doubt = `not certified (${certificate.code})`
  if (figure === undefined || interval === undefined || doubtedMs(figure, interval, okLatency.count) === 0) return doubt
  const [clean, measured] = interval
  return `${doubt}: the server's own value is ${inWords(clean, 'ms')} to ${inWords(measured, 'ms')}`
}
