/** The checks, in the order in which they run. */
import type { Check } from './check.ts'
import { companions } from './companions.ts'
import { halfLoad } from './half-load.ts'
import { sameAnswers } from './same-answers.ts'
import { sigterm } from './sigterm.ts'
import { streams } from './streams.ts'
import { tenTimes } from './ten-times.ts'

export const CHECKS = {
  'same-answers': sameAnswers,
  streams,
  companions,
  'half-load': halfLoad,
  'ten-times': tenTimes,
  sigterm,
} as const satisfies Readonly<Record<string, Check>>

export type CheckName = keyof typeof CHECKS

export const CHECK_NAMES = Object.keys(CHECKS) as CheckName[]
