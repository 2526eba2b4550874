/**
 * SIGTERM under load. With MELTPROOF_DRAIN=on nothing that the app had accepted is lost; without it no more than without
 * meltproof, whoever shuts it down. Refused connections are not lost: a balancer sends those requests elsewhere.
 */
import type { Load, LoadMaker } from '../load/load-maker.ts'
import type { Arm } from '../runner/definition.ts'
import type { Running } from '../runner/start.ts'
import type { Check, Subject } from './check.ts'
import { beyondChance, lostOf } from './fates.ts'

/** Of its capacity: busy, so that requests are under way, and not overloaded. */
const SHARE = 0.7
const DURATION_MS = 3000
const AFTER_MS = 2000
/** How many requests are under way when the signal comes is chance: once says little. */
const ROUNDS = 2

export const sigterm: Check = async subject => {
  const capacity = await subject.capacity()
  const bare: Load[] = []
  const register: Load[] = []
  const drained: Load[] = []
  for (let round = 0; round < ROUNDS; round++) {
    bare.push(await ended(subject, 'bare', capacity * SHARE))
    register.push(await ended(subject, 'register', capacity * SHARE))
    drained.push(await ended(subject, 'register+drain', capacity * SHARE))
  }
  const before = sum(bare, lostOf)
  const lost = sum(register, lostOf)
  const shed = sum(register, load => load.shed)
  const lostInDrains = sum(drained, lostOf)
  const failures = [
    ...(beyondChance(lost, before)
      ? [`${lost} requests were lost in ${ROUNDS} shutdowns, ${before} without meltproof`]
      : []),
    ...(lostInDrains > 0 ? [`${lostInDrains} requests were lost in ${ROUNDS} drains`] : []),
  ]
  return {
    ok: failures.length === 0,
    summary: `${lostInDrains} lost (not drained ${lost}, bare ${before})`,
    failures,
    notes: shed > 0 ? [`at ${100 * SHARE} % of its capacity, from a cold start, ${shed} requests were shed`] : [],
    figures: { capacity, drained, register, bare },
  }
}

function ended(subject: Subject, arm: Arm, rate: number): Promise<Load> {
  return subject.underLoad(arm, async (make: LoadMaker, { app }: Running) => {
    const signal = setTimeout(() => process.kill(app.pid, 'SIGTERM'), AFTER_MS)
    try {
      return await make.offer(rate, DURATION_MS)
    } finally {
      clearTimeout(signal)
    }
  })
}

function sum(loads: readonly Load[], of: (load: Load) => number): number {
  return loads.reduce((total, load) => total + of(load), 0)
}
