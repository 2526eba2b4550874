/** What Kubernetes makes of the load that instances tell (deploy/kubernetes). Pure. */

export const TARGET = 0.7
/** HPA changes nothing when the metric is that near to its target. */
const TOLERANCE = 0.1

/** HPA with a metric of type Pods, and KEDA with `metricType: Value`. */
export function replicas(now: number, meanLoad: number): number {
  const ratio = meanLoad / TARGET
  return Math.abs(ratio - 1) <= TOLERANCE ? now : Math.max(1, Math.ceil(ratio * now))
}

/**
 * HPA of type Pods where some of `loads` are missing, as of pods that Prometheus has not seen yet: these are taken to be idle
 * when there would be more, and on target when there would be fewer.
 */
export function replicasOf(loads: readonly (number | undefined)[]): number {
  const mean = (of: readonly number[]): number => of.reduce((sum, load) => sum + load, 0) / of.length
  const told = loads.filter(load => load !== undefined)
  const wants = replicas(told.length, mean(told))
  if (told.length === loads.length) return wants
  const grows = mean(told) > TARGET
  const all = replicas(loads.length, mean(loads.map(load => load ?? (grows ? 0 : TARGET))))
  return grows ? Math.max(loads.length, all) : Math.min(loads.length, all)
}

/** Evaluations, one every 15 s, in `stabilizationWindowSeconds` and in `periodSeconds` of scaling down. */
const STABILIZED = 20
const PERIOD = 4
/** What one period leaves. */
const LEFT = 0.9
/** Scaling up, at once. */
const MOST_TIMES = 10

/** How many there are after each evaluation, with the `behavior` of deploy/kubernetes/hpa.yaml. */
export function counts(first: number, evaluations: number, meanLoad: (replicas: number) => number): number[] {
  const all = [first]
  const wanted: number[] = []
  for (let i = 0; i < evaluations; i++) {
    const now = all[i]!
    const wants = replicas(now, meanLoad(now))
    wanted.push(wants)
    const least = Math.max(Math.trunc(LEFT * all[Math.max(0, i - PERIOD)]!), ...wanted.slice(-STABILIZED))
    all.push(wants > now ? Math.min(wants, MOST_TIMES * now) : Math.min(now, least))
  }
  return all
}
