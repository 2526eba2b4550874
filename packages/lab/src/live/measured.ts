/** The measurements of a live run: plain data in whole seconds, by the due time of requests. Pure. */
import type { LoadOutcome, LoadSecond } from '../load/plan.ts'
import type { Fates, Row, SecondResult } from '../melt/measured.ts'
import { keptOf } from '../report/standing.ts'
import { fatesOf, latencyOf, secondOf } from '../melt/summary.ts'

export interface LiveMeasured {
  readonly setup: LiveSetup
  /** The capacity of the bare app, requests per second, used for both sides. Null until known; `given` by --capacity. */
  capacity: {
    readonly rate: number
    readonly given: boolean
    readonly searches?: readonly number[] | undefined
  } | null
  seconds: readonly LiveSecond[]
  rows: readonly LiveRow[]
  /** For each side whose process ended by itself: how, and at which load. */
  died: Readonly<Record<string, Death>>
}

export interface Death {
  readonly how: string
  readonly load: number
}

export interface LiveSetup {
  readonly request: string
  readonly connections: string
  readonly sloMs: number
  readonly timeoutMs: number
  /** Describes which core did what. */
  cores: string
}

export interface LiveSecond {
  readonly second: number
  /** The load as a multiple of the capacity; null for a second in which it changed. */
  readonly load: number | null
  readonly sides: Readonly<Record<string, SecondResult>>
}

/** All seconds of a load after it had settled. */
export interface LiveRow extends Pick<Row, keyof Fates | 'arm' | 'multiple' | 'ofCapacity' | 'admittedMs' | 'shedMs'> {
  readonly seconds: number
}

export interface LiveSide {
  readonly arm: string
  readonly outcome: LoadOutcome
}

/** A second counts after this many seconds of the same load: by default, requests of an earlier load have ended. */
const SETTLES_S = 2

/** Maximum after-effect of a decrease of the load: a server that has not recovered by then will not. */
const RECOVERS_S = 10
/** The same threshold as in the report's verdict. */
const RECOVERED = 0.9

/** A second counts for its load if the seconds before had it. The first never does: its connections are cold. */
function settled(loads: readonly (number | null)[], second: number): number | null {
  const load = loads[second] ?? null
  const before = loads.slice(Math.max(0, second - SETTLES_S), second)
  return before.length > 0 && before.every(each => each === load) ? load : null
}

/** The seconds in which a side still works off a backlog after the load fell from above the capacity. */
function recovering(
  seconds: readonly LoadSecond[],
  loads: readonly (number | null)[],
  capacity: number,
): ReadonlySet<number> {
  const found = new Set<number>()
  let [highest, left] = [0, 0]
  for (const { second, scheduled, good } of seconds) {
    const load = loads[second] ?? null
    if (load !== null && load < highest) {
      if (highest > 1) left = RECOVERS_S
      highest = load
    }
    highest = Math.max(highest, load ?? 0)
    const kept = keptOf({ goodput: good, offered: scheduled, ofCapacity: good / capacity })
    left = kept >= RECOVERED && load !== null ? 0 : left - 1
    if (left > 0) found.add(second)
  }
  return found
}

export function secondsOf(
  sides: readonly LiveSide[],
  loads: readonly (number | null)[],
  sloMs: number,
): readonly LiveSecond[] {
  // The last second is rarely complete.
  const length = Math.min(loads.length, ...sides.map(({ outcome }) => outcome.seconds.length)) - 1
  return Array.from({ length: Math.max(0, length) }, (_, second) => ({
    second,
    load: loads[second] ?? null,
    sides: Object.fromEntries(sides.map(({ arm, outcome }) => [arm, secondOf(outcome.seconds[second]!, sloMs)])),
  }))
}

/** Ordered by arm, then by load. */
export function rowsOf(
  sides: readonly LiveSide[],
  loads: readonly (number | null)[],
  sloMs: number,
  capacity: number,
): readonly LiveRow[] {
  return sides.flatMap(({ arm, outcome }) => {
    const whole = Math.min(loads.length, outcome.seconds.length) - 1
    const seconds = outcome.seconds.slice(0, Math.max(0, whole))
    const afterFall = recovering(seconds, loads, capacity)
    const byLoad = Map.groupBy(seconds, each => (afterFall.has(each.second) ? null : settled(loads, each.second)))
    return [...byLoad]
      .filter((entry): entry is [number, LoadSecond[]] => entry[0] !== null)
      .sort(([one], [other]) => one - other)
      .map(([multiple, seconds]) => {
        const fates = fatesOf(seconds, seconds.length, sloMs)
        return {
          arm,
          multiple,
          seconds: seconds.length,
          ...fates,
          ofCapacity: fates.goodput / capacity,
          admittedMs: latencyOf(seconds.map(each => each.okLatency)),
          shedMs: latencyOf(seconds.map(each => each.shedLatency)),
        }
      })
  })
}
