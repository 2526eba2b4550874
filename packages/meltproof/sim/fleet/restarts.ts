/** A rollout as Kubernetes does it with maxUnavailable 1: one after another drains, ends, starts and is ready again. */
import type { Fleet } from './fleet.ts'

/** As `drainDelayMs` by default. */
const DRAIN_MS = 5000
const READY_AFTER_MS = 3000

export function restarts(fleet: Fleet, fromS: number, startS: number): void {
  const members = [...fleet.members]
  const next = (): void => {
    const member = members.shift()
    member?.drain(DRAIN_MS, () =>
      fleet.clock.at(fleet.clock.nowMs + startS * 1000, () => {
        member.start()
        fleet.clock.at(fleet.clock.nowMs + READY_AFTER_MS, next)
      }),
    )
  }
  fleet.clock.at(fromS * 1000, next)
}
