/** The measurements of a live run: plain data in whole seconds, by the due time of requests. Pure. */
import type { LoadOutcome, LoadSecond } from '../load/plan.ts'
import type { Capacity, Fates, MeltSetup, Row, SecondResult } from '../melt/measured.ts'
import { fatesOf, latencyOf, secondOf } from '../melt/summary.ts'
import { CountedSeconds } from './counted-seconds.ts'

export interface LiveMeasured {
  readonly setup: LiveSetup
  /** The capacity of the bare app, requests per second, for both sides. Null until known; `given` by --capacity. */
  capacity: LiveCapacity | null
  seconds: readonly LiveSecond[]
  rows: readonly LiveRow[]
  /** For each side whose process ended by itself: how, and at which load. */
  died: Readonly<Record<string, Death>>
}

interface LiveCapacity extends Pick<Capacity, 'rate' | 'searches' | 'isSteady' | 'generator'> {
  readonly given: boolean
  /** The capacity of processes started anew after the load; null if it was given, or was not measured again. */
  readonly after: number | null
  /** Why it could not be measured again. */
  readonly whyNoAfter?: string | undefined
}

export interface Death {
  readonly how: string
  readonly load: number
}

export interface LiveSetup extends Pick<MeltSetup, 'request' | 'connections' | 'sloMs' | 'timeoutMs'> {
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
    const counted = new CountedSeconds(capacity)
    const byLoad = Map.groupBy(seconds, each => counted.add(loads[each.second] ?? null, each))
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
