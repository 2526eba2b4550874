/** The options of `meltlab live`: defaults with reasons, and checks. Pure. */
import { parseDuration } from '../durations.ts'
import { checkOptions, type MeltOptions, presets, type RawMeltOptions } from '../melt/options.ts'
import { numberOf } from '../option-values.ts'

export type RawLiveOptions = Omit<
  RawMeltOptions,
  'rounds' | 'spacing' | 'also' | 'at' | 'duration' | 'timeout' | 'url' | 'recovery' | 'quick' | 'cert' | 'key'
> & {
  readonly timeout: string
  readonly for: string
  readonly capacity?: string
  readonly open: boolean
}

export interface LiveOptions {
  readonly melt: MeltOptions
  /** Requests per second of each side; undefined if it must be measured. */
  readonly capacity: number | undefined
  readonly longestMs: number
}

export const defaults: { readonly timeout: string; readonly for: string } = {
  timeout: presets.quick.timeout,
  /** Ends a run that was forgotten: `live` keeps two cores busy. */
  for: '1h',
}

export function checkLiveOptions(raw: RawLiveOptions, typed: readonly string[]): LiveOptions {
  const { capacity, for: lasts, open: _, ...given } = raw
  return {
    melt: checkOptions({ ...given, rounds: '1', spacing: 'even', also: [], quick: true }, typed, 'live'),
    capacity: capacity === undefined ? undefined : numberOf(capacity, '--capacity', 1, 1_000_000, false),
    longestMs: parseDuration(lasts, '--for'),
  }
}
