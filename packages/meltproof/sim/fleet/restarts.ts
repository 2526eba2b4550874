/**
 * A rollout like Kubernetes' with maxUnavailable 1: one member after another drains, ends, starts and becomes ready.
 */
import type { Fleet } from './fleet.ts'

/** The default of `drainDelayMs`. */
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
