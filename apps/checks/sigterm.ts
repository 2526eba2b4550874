/**
 * SIGTERM under load. With MELTPROOF_DRAIN=on, no request is lost that the app had accepted. Without MELTPROOF_DRAIN,
 * no more requests are lost than without meltproof, no matter which code shuts the app down. A refused connection is no
 * loss, because a balancer sends the request elsewhere.
 *
 * An app that just exits loses the requests in flight, with meltproof or without: its rate times its latency. The
 * backlog of a new process differs by hundreds of requests from run to run, so the two arms without a drain are warmed
 * up before they are compared. The draining arm is not warmed up: it must lose nothing, however many requests wait.
 */
import type { Load, LoadMaker } from '../load/load-maker.ts'
import type { Arm } from '../runner/definition.ts'
import type { Running } from '../runner/start.ts'
import type { Check } from './check.ts'
import { beyondChance, lostOf, median } from './fates.ts'

/** Load as a share of the capacity: busy, so that requests are in flight, but not overloaded. */
const SHARE = 0.7
const DURATION_MS = 3000
const AFTER_MS = 2000
const WARM_UP_MS = 3000
/** Runs per arm; their median counts. A pause of the machine at the signal puts hundreds of requests in flight. */
const ROUNDS = 3

export const sigterm: Check = async subject => {
  const { rate: capacity, users } = await subject.capacity()
  const ended = (arm: Arm, warm: boolean): Promise<Load> =>
    subject.underLoad(arm, async (make, running) => {
      if (warm) await make.busy(users, WARM_UP_MS)
      return offerAndEnd(make, running, capacity * SHARE)
    })
  const bare: Load[] = []
  const register: Load[] = []
  const drained: Load[] = []
  for (let round = 0; round < ROUNDS; round++) {
    bare.push(await ended('bare', true))
    register.push(await ended('register', true))
    drained.push(await ended('register+drain', false))
  }
  const before = median(bare.map(lostOf))
  const lost = median(register.map(lostOf))
  const shed = sum(register, load => load.shed)
  const lostInDrains = sum(drained, lostOf)
  const failures = [
    ...(beyondChance(lost, before)
      ? [`${lost} requests were lost when it was ended, ${before} without meltproof (medians of ${ROUNDS})`]
      : []),
    ...(lostInDrains > 0 ? [`${lostInDrains} requests were lost in ${ROUNDS} drains`] : []),
  ]
  return {
    ok: failures.length === 0,
    summary: `${lostInDrains} lost (not drained ${lost}, bare ${before})`,
    failures,
    notes: shed > 0 ? [`at ${100 * SHARE} % of its capacity ${shed} requests were shed`] : [],
    figures: { capacity, users, drained, register, bare },
  }
}

async function offerAndEnd(make: LoadMaker, { app }: Running, rate: number): Promise<Load> {
  const signal = setTimeout(() => process.kill(app.pid, 'SIGTERM'), AFTER_MS)
  try {
    return await make.offer(rate, DURATION_MS)
  } finally {
    clearTimeout(signal)
  }
}

function sum(loads: readonly Load[], of: (load: Load) => number): number {
  return loads.reduce((total, load) => total + of(load), 0)
}
