/** Words that the reports of an attack share: for its load, failures and expectations. Pure. */
import { styleText } from 'node:util'
import { formatDuration } from '../durations.ts'
import type { LoadOutcome, LoadPlan } from '../load/plan.ts'
import { planMs, ratesOf } from '../load/schedule.ts'
import { plural } from '../words.ts'
import { formatCount, formatRate } from './format.ts'

/** An expectation of a load run, and its result. */
export interface Judged {
  /** The expectation as text: `p99 < 250ms`. */
  readonly expected: string
  readonly met: boolean
  /** With its unit; `no answer` without a figure. */
  readonly measured: string
  readonly value: number | null
  readonly unit: 'ms' | '%' | '/s' | 'requests'
  /** Why the figure is not certified; absent if it is. */
  readonly doubt?: string
}

export interface AttackRun {
  readonly plan: LoadPlan
  readonly outcome: LoadOutcome
  readonly judged: readonly Judged[]
}

/** The load in words, such as `200/s`, `100/s to 900/s`, `20/s journeys` or `50 users`. */
export const offered = ({ arrival, journey }: Pick<LoadPlan, 'arrival' | 'journey'>): string => {
  if (arrival.kind === 'closed') return plural(arrival.users, 'user')
  const rates = arrival.schedule.phases.map(phase => {
    const [from, to] = ratesOf(phase).map(rate => `${formatRate(rate)}/s`)
    return from === to ? from : `${from} to ${to}`
  })
  return `${rates.join(', ')}${journey === undefined ? '' : ' journeys'}`
}

export const loadInWords = (plan: Pick<LoadPlan, 'arrival' | 'journey'>): string =>
  `${offered(plan)} for ${formatDuration(planMs(plan))}`

const WORDS: Readonly<Record<string, string>> = {
  refused: 'the connection was refused',
  reset: 'the connection closed before the answer was complete',
  'connect-timeout': 'no connection in time',
  'response-timeout': 'no complete answer in time',
  malformed: 'the answer was not valid HTTP',
  unresolved: 'the name has no address',
  unreachable: 'the network has no route to it',
  aborted: 'in flight when the run was stopped',
  other: 'see below',
}

/** One text per code: `refused: 3 (the connection was refused)`. */
export const failures = (failed: LoadOutcome['failed']): string[] =>
  Object.entries(failed).map(([code, times]) => `${code}: ${formatCount(times ?? 0)} (${WORDS[code] ?? code})`)

export const asked = ({ url, others = [], journey }: LoadPlan): string => {
  if (journey !== undefined) return `${new URL(url).origin}, a journey of ${formatCount(journey.steps.length)} steps`
  return others.length === 0 ? url : `${formatCount(others.length + 1)} targets, round robin`
}

export const sign = (met: boolean, colour: boolean): string => {
  const mark = met ? '✓' : '✗'
  return colour ? styleText(met ? 'green' : 'red', mark, { validateStream: false }) : mark
}

/** Such as `p99 < 250ms: 12ms`. */
export const judgedText = ({ expected, measured, doubt }: Judged): string =>
  `${expected}: ${measured}${doubt === undefined ? '' : `, ${doubt}`}`

/** Says why no request was answered: the server does not run, or hangs. Undefined if any answer arrived. */
export function whyUnanswered(
  outcome: Pick<LoadOutcome, 'scheduled' | 'unsent' | 'answered' | 'failed'>,
): string | undefined {
  const { scheduled, unsent, answered, failed } = outcome
  if (scheduled === 0 || Object.values(answered).some(count => count > 0)) return undefined
  const reasons = Object.entries({ ...failed, 'not sent': unsent }).filter(([, count]) => count > 0)
  const why = reasons.map(([reason, count]) => `${formatCount(count)} ${reason}`).join(', ')
  return `none of ${formatCount(scheduled)} requests was answered (${why})`
}
