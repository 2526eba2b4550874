/**
 * What a limiter makes of a scenario, beside the same service without one, and which rules it breaks. Pure.
 *
 * - false sheds: where no request may be shed, at most 0.2 % are.
 * - late: at most 3 % of the offered requests is answered late, that is, later than the promise of 1 s because of other
 *   requests (sim/own-time.ts); requests that are never answered count. Where no request may be shed, a burst that takes two
 *   seconds is late without admission too: there at most 2 points more than bare.
 * - in service: contending at once (waiting for the core, a connection, a lock; sim/census.ts) are at most twice the most
 *   that left within one second. By Little's law N handlers of which D leave per second take N / D seconds on average: with
 *   more than D in service the last to come is later than the promise of 1 s. Twice that leaves room for what cannot be known
 *   yet, such as a burst on a service at rest, which may take two seconds. Requests that progress by themselves
 *   (they wait for something with room, or hold a connection) are in no other request's way and do not count. Where no request may be
 *   shed, as many as bare has may contend.
 * - below bare: goodput, and requests answered in their own time, are at most 2 points below bare. Where capacity is
 *   scarce this holds wherever bare keeps the rule for late answers: a service that lets in what it cannot do answers
 *   some in time and some never, and to do as well for the first means to do as badly by the others. What bare has more
 *   in time then is noted (`bareMore`) and breaks no rule.
 */
export interface Measured {
  /** Goodput as a share of the ideal; above 1 by chance, or where many are late. */
  readonly good: number
  /** Of the offered requests. */
  readonly late: number
  readonly shed: number
  /** Answered in their own time, whatever the status. */
  readonly inItsTime: number
  /** The most at once. */
  readonly mostInService: number
  readonly mostContending: number
  /** In one second. */
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
  /** The mean of the seeds for shares; the worst seed for sheds where no request may be shed, for lateness and for the most. */
  readonly measured: Measured
  readonly bare: Measured
  readonly broken: readonly Rule[]
  /** Goodput that bare has more where it answers too many late, of the ideal. */
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
  /** Where capacity is scarce: mean of the shares of the ideal, each 1 at the most, and the worst. */
  readonly mean: number
  readonly worst: Yardstick | undefined
  /** Scenarios below 75 % of the ideal. */
  readonly below: number
  /** The largest share of late answers where capacity is scarce. */
  readonly late: number
  readonly breaking: Readonly<Record<Rule, number>>
}

/** Of one limiter and one set. */
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

/** A figure has changed by more than this. */
const CHANGED = 0.01

/** What is different in `after`, a line for each scenario. */
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
