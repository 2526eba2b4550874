/**
 * Judges a limiter in a scenario against the same service without a limiter, and finds the rules that it breaks. Pure.
 *
 * - false sheds: where no request may be shed, at most 0.2 % are.
 * - late: at most 3 % of the offered requests are answered late, that is, later than the promise of 1 s because of
 *   other requests (sim/own-time.ts); requests that are never answered count. Where no request may be shed, a burst
 *   that takes two seconds is late without admission too, so there the limit is 3 %, or 2 points above bare if that is
 *   more.
 * - in service: the requests that contend at the same time (for the core, a connection, a lock; sim/census.ts) are at
 *   most twice the maximum that left within one second. By Little's law, N handlers of which D leave per second take
 *   N/D seconds on average: with more than D in service, the last to arrive is later than the promise of 1 s. The
 *   factor of two leaves room for loads that are not known in advance, such as a burst on a service at rest, which may
 *   take two seconds. Requests that progress by themselves (they wait for something with free capacity, or hold a
 *   connection) delay no other request and do not count. Where no request may be shed, as many requests may contend as
 *   in the bare run.
 * - below bare: goodput, and requests answered in their own time, are at most 2 points below bare. Where capacity is
 *   scarce, this applies only if bare keeps the rule for late answers: a service that admits more than it can serve
 *   answers some requests in time and some never, and a limiter could match its goodput only if it did the same. The
 *   additional goodput of bare is then noted (`bareMore`) and breaks no rule.
 */
export interface Measured {
  /** Goodput as a share of the ideal; above 1 by chance, or where many are late. */
  readonly good: number
  /** Share of the offered requests. */
  readonly late: number
  readonly shed: number
  /** Answered in their own time, with any status. */
  readonly inItsTime: number
  /** Maximum at the same time. */
  readonly mostInService: number
  readonly mostContending: number
  /** Maximum in one second. */
  readonly mostLeft: number
}

export const RULES = ['false sheds', 'late', 'in service', 'below bare'] as const
export type Rule = (typeof RULES)[number]

const FALSE_SHEDS = 0.002
const LATE = 0.03
const POINTS = 0.02
const TIMES_LEFT = 2
/** A scenario does badly below this share of the ideal. */
const POOR = 0.75

export interface Yardstick {
  readonly set: string
  readonly name: string
  readonly limiter: string
  /** Capacity suffices: no request may be shed. */
  readonly noShed: boolean
  /** Shares are means of the seeds. Sheds where none is allowed, lateness and maxima are of the worst seed. */
  readonly measured: Measured
  readonly bare: Measured
  readonly broken: readonly Rule[]
  /** Additional goodput of bare where it answers too many requests late, as a share of the ideal. */
  readonly bareMore: number
}

export interface Ran {
  readonly set: string
  readonly name: string
  readonly limiter: string
  readonly noShed: boolean
  /** One for each seed, the same seeds in both. */
  readonly runs: readonly Measured[]
  readonly bareRuns: readonly Measured[]
}

export function yardstickOf({ runs, bareRuns, ...what }: Ran): Yardstick {
  const measured = together(runs, what.noShed)
  const bare = together(bareRuns, what.noShed)
  const { noShed } = what
  const below = Math.min(1, bare.good) - Math.min(1, measured.good)
  const comparable = noShed || bare.late <= LATE
  const crowded = runs.some(
    ({ mostContending, mostLeft }, seed) =>
      mostContending > Math.max(TIMES_LEFT * mostLeft, noShed ? bareRuns[seed]!.mostContending : 0),
  )
  const breaks: Readonly<Record<Rule, boolean>> = {
    'false sheds': noShed && measured.shed > FALSE_SHEDS,
    late: measured.late > (noShed ? Math.max(LATE, bare.late + POINTS) : LATE),
    'in service': crowded,
    'below bare': comparable && (below > POINTS || bare.inItsTime - measured.inItsTime > POINTS),
  }
  return {
    ...what,
    measured,
    bare,
    broken: RULES.filter(rule => breaks[rule]),
    bareMore: comparable ? 0 : Math.max(0, bare.good - measured.good),
  }
}

function together(runs: readonly Measured[], noShed: boolean): Measured {
  const of = (key: keyof Measured): number[] => runs.map(run => run[key])
  const mean = (key: keyof Measured): number => of(key).reduce((sum, value) => sum + value, 0) / runs.length
  return {
    good: mean('good'),
    late: Math.max(...of('late')),
    shed: noShed ? Math.max(...of('shed')) : mean('shed'),
    inItsTime: mean('inItsTime'),
    mostInService: Math.max(...of('mostInService')),
    mostContending: Math.max(...of('mostContending')),
    mostLeft: Math.max(...of('mostLeft')),
  }
}

export interface SetYardstick {
  readonly limiter: string
  readonly set: string
  readonly scarce: number
  readonly ample: number
  /** Where capacity is scarce: the mean of the shares of the ideal, each 1 at most, and the worst scenario. */
  readonly mean: number
  readonly worst: Yardstick | undefined
  /** Scenarios below 75 % of the ideal. */
  readonly below: number
  /** The largest share of late answers where capacity is scarce. */
  readonly late: number
  readonly breaking: Readonly<Record<Rule, number>>
}

/** Summary of one limiter and one set. */
export function summaryOf(yardsticks: readonly Yardstick[]): SetYardstick {
  const scarce = yardsticks.filter(({ noShed }) => !noShed).sort((a, b) => a.measured.good - b.measured.good)
  const shares = scarce.map(({ measured }) => Math.min(1, measured.good))
  return {
    limiter: yardsticks[0]!.limiter,
    set: yardsticks[0]!.set,
    scarce: scarce.length,
    ample: yardsticks.length - scarce.length,
    mean: shares.length === 0 ? 1 : shares.reduce((sum, share) => sum + share, 0) / shares.length,
    worst: scarce[0],
    below: shares.filter(share => share < POOR).length,
    late: Math.max(0, ...scarce.map(({ measured }) => measured.late)),
    breaking: Object.fromEntries(
      RULES.map(rule => [rule, yardsticks.filter(({ broken }) => broken.includes(rule)).length]),
    ) as Record<Rule, number>,
  }
}

/** A figure has changed if it differs by more than this. */
const CHANGED = 0.01

/** The differences in `after`, one line for each scenario. */
export function changes(before: readonly Yardstick[], after: readonly Yardstick[]): string[] {
  const key = ({ set, name, limiter }: Yardstick): string => `${limiter}, ${set}: ${name}`
  const known = new Map(before.map(each => [key(each), each]))
  return after.flatMap(each => {
    const was = known.get(key(each))
    if (was === undefined) return []
    const parts = (['good', 'late', 'shed', 'inItsTime'] as const).flatMap(figure => {
      const clip = (value: number): number => (figure === 'good' ? Math.min(1, value) : value)
      const [from, to] = [clip(was.measured[figure]), clip(each.measured[figure])]
      return Math.abs(to - from) > CHANGED ? [`${WORDS[figure]} ${percent(from)} -> ${percent(to)}`] : []
    })
    const mended = was.broken.filter(rule => !each.broken.includes(rule)).map(rule => `keeps "${rule}" now`)
    const broken = each.broken.filter(rule => !was.broken.includes(rule)).map(rule => `BREAKS "${rule}" now`)
    const all = [...parts, ...broken, ...mended]
    return all.length === 0 ? [] : [`${key(each)}: ${all.join('; ')}`]
  })
}

const WORDS = { good: 'goodput', late: 'late', shed: 'shed', inItsTime: 'in its time' } as const
export const percent = (share: number): string => `${(100 * share).toFixed(1)} %`
