/**
 * Finds the smallest spike, the fewest client retries and the shortest silence of a dependency from which an app does
 * not recover by itself. Pure.
 */
import { formatChosen, formatList, formatMultiple } from '../report/format.ts'
import type { ScenarioArm, Standing, View } from '../report/result.ts'
import { NO_VERDICT, NOTHING_MEASURED } from '../report/standing.ts'
import { tableOf } from '../report/tables.ts'
import type { Limit, MeltMeasured, RecoveryShape } from './measured.ts'
import { whyNoVerdict } from './no-verdict.ts'
import { isCarried, SAFE_LOAD, spikeInWords, WINDOW_S } from './recovery.ts'

export const LEVELS: Readonly<Record<Limit['kind'], readonly number[]>> = {
  spike: [1.5, 2, 3, 5, 10, 20],
  retries: [0, 1, 2, 3],
  outage: [1, 2, 3, 5, 10, 20],
}
const SPIKE_S = 3

/** Begins with the highest level, from which most protected apps recover. Undefined when the limit is known. */
export function nextLevel(levels: readonly number[], tried: Limit['tried']): number | undefined {
  if (tried.length === 0) return levels.at(-1)
  const [held, lost] = [mostHeld(tried), leastLost(tried)]
  const open = levels.filter(level => level > held && level < lost)
  return open[open.length >> 1]
}

/** `spike`: the spike in which clients retry, if the level is their number of retries. */
export function shapeOf(kind: Limit['kind'], level: number, spike: number, withinS: number): RecoveryShape {
  const usual = { beforeS: 2, spike, spikeS: SPIKE_S, afterS: withinS + WINDOW_S, retries: 0 }
  if (kind === 'outage') return { ...usual, beforeS: 3, spike: SAFE_LOAD, spikeS: level, isOutage: true }
  return kind === 'spike' ? { ...usual, spike: level } : { ...usual, retries: level }
}

/** The highest level from which the app recovered; -Infinity if it recovered from none. */
export const mostHeld = (tried: Limit['tried']): number =>
  Math.max(...tried.filter(({ backAfterS }) => backAfterS !== null).map(({ level }) => level))

/** The lowest level from which the app did not recover; Infinity if it recovered from all. */
const leastLost = (tried: Limit['tried']): number =>
  Math.min(...tried.filter(({ backAfterS }) => backAfterS === null).map(({ level }) => level))

const inWords = ({ kind, spike }: Limit, level: number): string => spikeInWords(shapeOf(kind, level, spike, 0))

const said = (limit: Limit): string => {
  if (limit.unsure !== null) return limit.unsure
  const lost = leastLost(limit.tried)
  return lost === Number.POSITIVE_INFINITY
    ? `back from ${inWords(limit, mostHeld(limit.tried))}`
    : `not back from ${inWords(limit, lost)}`
}

export function limitsView(
  { limits = [], capacity, setup }: MeltMeasured,
  arms: readonly Pick<ScenarioArm, 'name'>[],
  withinMs: number,
): View {
  if (capacity === null || limits.length === 0) return NOTHING_MEASURED
  const within = formatChosen(withinMs)
  const sentences = arms.flatMap(({ name }) => {
    const mine = limits.filter(limit => limit.arm === name && limit.unsure === null)
    return mine.length === 0 ? [] : [`${name}: ${formatList(mine.map(said))}`]
  })
  return {
    standings: arms.flatMap(({ name }) => standingOf(limits.filter(({ arm }) => arm === name))),
    unjudged:
      whyNoVerdict({ ...capacity, over: [capacity.before, capacity.after], best: 0 }) ??
      (isCarried(capacity)
        ? undefined
        : 'its capacity fell until 0.8x was too much; repeat the run without other work'),
    finding: `${sentences.join('; ') || 'Nothing could be judged'}.`,
    tables: [
      tableOf(
        {
          title: `The lowest level from which each arm is not back within ${within}`,
          note: `${setup.request}; ${setup.connections}. After each the load is 0.8x of the capacity.`,
        },
        limits,
        [
          ['', ({ arm }) => arm],
          ['', said],
          ['back after', ({ tried }) => tried.map(triedInWords).join(', ')],
        ],
      ),
    ],
    plots: [],
  }
}

const triedInWords = ({ level, backAfterS }: Limit['tried'][number]): string =>
  `${level}: ${backAfterS === null ? 'never' : `${backAfterS} s`}`

/** A failed recovery counts even if the search is unfinished; the verdict "comes back" needs the whole search. */
function standingOf(limits: readonly Limit[]): Standing[] {
  const [spike, outage] = (['spike', 'outage'] as const).map(wanted => limits.find(({ kind }) => kind === wanted))
  if (spike === undefined) return []
  const held = mostHeld(spike.tried)
  const figure = {
    arm: spike.arm,
    figure: held > 0 ? formatMultiple(held) : 'none',
    of: 'is the most it came back from',
  }
  for (const { tried, ...limit } of [spike, outage].filter(each => each !== undefined)) {
    const lost = leastLost(tried)
    if (lost === Number.POSITIVE_INFINITY) continue
    const from = limit.kind === 'spike' ? formatMultiple(lost) : inWords({ ...limit, tried }, lost)
    return [{ ...figure, says: `not back from ${from}`, tone: 'bad' }]
  }
  if (spike.unsure !== null || (outage?.unsure ?? null) !== null) return [{ ...figure, ...NO_VERDICT }]
  return [{ ...figure, says: 'comes back', tone: 'good' }]
}
