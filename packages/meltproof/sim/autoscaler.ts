/** Computes replica counts as Kubernetes does from the load that instances report (deploy/kubernetes). Pure. */

export const TARGET = 0.7
/** HPA changes nothing while the metric is within this share of its target. */
const TOLERANCE = 0.1

/** Returns the count that HPA computes from a metric of type Pods, and KEDA with `metricType: Value`. */
export function replicas(now: number, meanLoad: number): number {
  const ratio = meanLoad / TARGET
  return Math.abs(ratio - 1) <= TOLERANCE ? now : Math.max(1, Math.ceil(ratio * now))
}

/**
 * Like `replicas()`, but some of `loads` may be missing: Prometheus has not scraped those pods yet. HPA counts a
 * missing pod as idle when it would scale up, and as on target when it would scale down.
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

/** The `stabilizationWindowSeconds` and `periodSeconds` of scaling down, as numbers of evaluations, 15 s apart. */
const STABILIZED = 20
const PERIOD = 4
/** Scaling down keeps at least this share of the replicas in one period. */
const LEFT = 0.9
/** Scaling up multiplies the replicas by at most this factor in one evaluation. */
const MOST_TIMES = 10

/** Implements the `behavior` of deploy/kubernetes/hpa.yaml. */
export class Autoscaler {
  readonly #counts: number[] = []
  readonly #wanted: number[] = []

  /** Returns the replica count after one more evaluation. */
  evaluate(now: number, meanLoad: number): number {
    this.#counts.push(now)
    const wants = replicas(now, meanLoad)
    this.#wanted.push(wants)
    if (wants > now) return Math.min(wants, MOST_TIMES * now)
    const before = this.#counts[Math.max(0, this.#counts.length - 1 - PERIOD)]!
    return Math.min(now, Math.max(Math.trunc(LEFT * before), ...this.#wanted.slice(-STABILIZED)))
  }
}

/** Returns the replica count before the first evaluation and after each one. */
export function counts(first: number, evaluations: number, meanLoad: (replicas: number) => number): number[] {
  const autoscaler = new Autoscaler()
  const all = [first]
  for (let i = 0; i < evaluations; i++) all.push(autoscaler.evaluate(all[i]!, meanLoad(all[i]!)))
  return all
}
