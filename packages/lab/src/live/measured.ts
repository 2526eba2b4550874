/** What a live run measures. Plain data, of whole seconds by the time at which requests were due. Pure. */
import type { LoadOutcome, LoadSecond } from '../load/plan.ts'
import type { Fates, Row, SecondResult } from '../melt/measured.ts'
import { keptOf } from '../report/standing.ts'
import { fatesOf, latencyOf, secondOf } from '../melt/summary.ts'

export interface LiveMeasured {
  readonly setup: LiveSetup
  /** Of each side, requests a second; null until it is known. `given` by --capacity. */
  capacity: {
    readonly rate: number
    readonly given: boolean
    readonly searches?: readonly number[] | undefined
  } | null
  seconds: readonly LiveSecond[]
  rows: readonly LiveRow[]
  /** Of each side whose process ended by itself: how, and at which load. */
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
  /** Which core did what, in words. */
  cores: string
}

export interface LiveSecond {
  readonly second: number
  /** Of the capacity; null for a second in which it was changed. */
  readonly load: number | null
  /** By arm. */
  readonly sides: Readonly<Record<string, SecondResult>>
}

/** All seconds of a load in which it had settled. */
export interface LiveRow extends Pick<Row, keyof Fates | 'arm' | 'multiple' | 'ofCapacity' | 'admittedMs' | 'shedMs'> {
  readonly seconds: number
}

export interface LiveSide {
  readonly arm: string
  readonly outcome: LoadOutcome
}

/** As long as the page waits until it draws a point: what an earlier load has left behind is answered or given up. */
const SETTLES_S = 2

/** At most this long a fall of the load may go on being felt: a server that has not recovered by then does not. */
const RECOVERS_S = 10
/** As the report's verdict has it. */
const RECOVERED = 0.9

/** A second counts for its load when that was the load of those before, too; the very first finds cold connections. */
function settled(loads: readonly (number | null)[], second: number): number | null {
  const load = loads[second] ?? null
  const before = loads.slice(Math.max(0, second - SETTLES_S), second)
  return before.length > 0 && before.every(each => each === load) ? load : null
}

/** Those in which a side still works off what a load above its capacity has left, after the load has fallen. */
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
  // The last one is seldom whole.
  const length = Math.min(loads.length, ...sides.map(({ outcome }) => outcome.seconds.length)) - 1
  return Array.from({ length: Math.max(0, length) }, (_, second) => ({
    second,
    load: loads[second] ?? null,
    sides: Object.fromEntries(sides.map(({ arm, outcome }) => [arm, secondOf(outcome.seconds[second]!, sloMs)])),
  }))
}

/** By arm, then by load. */
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
