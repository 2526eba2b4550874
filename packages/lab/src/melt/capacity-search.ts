/**
 * Finds an app's capacity, its peak goodput, from closed-loop probes: a few users that wait for each answer do not
 * overload an app, and no rate has to be guessed. Users double until goodput stops growing. A bisection checks both
 * sides of the best number of users. A longer probe with that number gives the capacity, because the maximum of several
 * noisy readings is too high. Pure.
 */

export interface Probe {
  readonly users: number
  /** Answers within the SLO, per second. */
  readonly goodput: number
}

export interface NextProbe {
  readonly kind: 'double' | 'bisect' | 'confirm'
  readonly users: number
}

/** Smaller growth counts as none: one-second probes repeat within about 2 %. */
const growth = 0.05
/** Maximum users in the search for the peak. */
export const mostUsers = 512

/** The next probe: first doublings from `fewest` users, then up to two bisections, then the confirmation. */
export function nextProbe(done: readonly (Probe & NextProbe)[], fewest = 1): NextProbe {
  const doubled = done.filter(probe => probe.kind === 'double')
  const last = doubled.at(-1)
  if (last === undefined) return { kind: 'double', users: fewest }
  if (stillGrowing(doubled)) return { kind: 'double', users: last.users * 2 }

  const knee = smallestNearPeak(doubled)
  // A doubling may skip the peak, so each side is probed half-way once.
  const missing = [Math.round(knee.users * 0.75), Math.round(knee.users * 1.5)].find(
    users => !done.some(probe => probe.users === users),
  )
  if (missing !== undefined) return { kind: 'bisect', users: missing }

  return { kind: 'confirm', users: smallestNearPeak(done).users }
}

/** Two doublings in a row without growth end the doublings: a single one may be noise or lock-step. */
function stillGrowing(doubled: readonly Probe[]): boolean {
  const last = doubled.at(-1)!
  if (last.users * 2 > mostUsers) return false
  if (doubled.length < 3) return true
  const before = Math.max(...doubled.slice(0, -2).map(probe => probe.goodput))
  const recent = Math.max(...doubled.slice(-2).map(probe => probe.goodput))
  return recent > before * (1 + growth)
}

/** The probe with the fewest users within a third of `growth` of the best goodput: more users would only wait. */
function smallestNearPeak(probes: readonly Probe[]): Probe {
  const peak = Math.max(...probes.map(probe => probe.goodput))
  const near = probes.filter(probe => probe.goodput >= peak * (1 - growth / 3))
  return near.reduce((fewest, probe) => (probe.users < fewest.users ? probe : fewest))
}
