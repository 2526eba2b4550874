/**
 * Compares a verdict of melt with the measurements of wrk and vegeta for the same app. These measurements are uncertain
 * too if the machine is not steady, so the capacity is a range, and so is the share computed from it. Pure.
 */
import { rankOf } from '../../packages/lab/src/report/standing.ts'
import type { AppVerdict, ArmVerdict, Outcome } from './npm-verdicts-page.ts'

/** Melt's capacity may lie this far outside the range of the closed loop, as a share. */
const BEYOND = 0.1

export type Judged = Pick<AppVerdict, 'closedLoop' | 'melt' | 'bare' | 'protected'>

export function outcomeOf({ closedLoop: [least, most], melt, bare, protected: guarded }: Judged): Outcome {
  const arms = [bare, guarded]
  if (arms.some(({ says }) => says === 'no verdict')) return 'none'
  const isNear = melt >= least * (1 - BEYOND) && melt <= most * (1 + BEYOND)
  return isNear && arms.every(arm => agrees(arm, least, most)) ? 'right' : 'wrong'
}

/** True if melt's verdict agrees with vegeta's count for some capacity in the range. */
function agrees({ vegeta, melt }: ArmVerdict, least: number, most: number): boolean {
  return rankOf(melt) >= rankOf(vegeta / most) && rankOf(melt) <= rankOf(vegeta / least)
}
