/** Checks plans before anything is started or sent: their own options, and the limits of this machine. */
import { refuseImpossible, thisMachine } from '../attack/machine-limits.ts'
import { sentence } from '../attack/preflight.ts'
import { checkPlan } from '../load/check-plan.ts'
import type { LoadPlan } from '../load/plan.ts'
import { prepare, type Prepared } from '../load/prepare.ts'
import { expectedArrivals } from '../load/schedule.ts'
import { offer } from '../melt/load-plans.ts'
import type { MeltOptions } from '../melt/options.ts'
import { loadInWords } from '../report/attack-words.ts'
import { UserError } from '../user-error.ts'

/** An even schedule with fewer expected arrivals sends no request. */
const LEAST_REQUESTS = 0.5

/** Checks all plans and prepares the first; there must be at least one. @throws UserError */
export function checkedPlans(plans: readonly LoadPlan[]): Prepared {
  const prepared = preparedOf(plans)
  for (const plan of plans) {
    refuseImpossible(plan, prepared.servers.length, thisMachine())
    const { arrival } = plan
    if (arrival.kind === 'open' && expectedArrivals(arrival.schedule) < LEAST_REQUESTS) {
      throw new UserError(
        `${loadInWords(plan)} schedules less than one request: use a higher rate or a longer duration`,
      )
    }
  }
  return prepared
}

/** Checks the request of a command that has yet to find the rate. @throws UserError */
export const checkRequest = (options: MeltOptions): void =>
  void checkedPlans([offer({ ...options, url: anywhere(options.path) }, 1, options.durationMs)])

/** The URL of a path on a server whose address is not known yet. */
export const anywhere = (path: string): string => new URL(path, 'http://localhost').href

function preparedOf(plans: readonly LoadPlan[]): Prepared {
  try {
    for (const plan of plans) checkPlan(plan)
    return prepare(plans[0]!)
  } catch (error) {
    throw new UserError(sentence((error as Error).message))
  }
}
