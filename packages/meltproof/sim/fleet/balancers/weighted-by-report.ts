/**
 * Envoy 1.40's client-side weighted round robin. Each report sets the weight of its server, and each update applies the
 * weights. A server gets the median of the other weights until it has reported for the blackout period, and again once
 * its reports have expired.
 */
import type { LoadReport } from '../../../src/server/response/load-report.ts'
import type { Random } from '../../random.ts'
import type { Balancer, Server } from './balancer.ts'
import { EarliestDeadline } from './earliest-deadline.ts'

export interface WeightTuning {
  readonly errorUtilizationPenalty: number
  readonly blackoutMs: number
  readonly expirationMs: number
  readonly updateEveryMs: number
}

/** The settings of deploy/envoy/envoy.yaml. */
export const SHIPPED: WeightTuning = {
  errorUtilizationPenalty: 1,
  blackoutMs: 2000,
  expirationMs: 20_000,
  updateEveryMs: 500,
}

const MOST = 0xffff_ffff
const AGAIN = 3

/** Returns a whole number, or undefined if Envoy rejects the report. */
export function weightOf({ text }: LoadReport, errorUtilizationPenalty: number): number | undefined {
  const fields = new Map(
    text
      .slice('TEXT '.length)
      .split(',')
      .map(field => field.split(':') as [string, string]),
  )
  const of = (name: string): number => Number(fields.get(name) ?? 0)
  const qps = of('rps_fractional')
  if (!(qps > 0)) return undefined
  const application = of('application_utilization')
  const utilization =
    (application > 0 ? application : of('cpu_utilization')) + (errorUtilizationPenalty * of('eps')) / qps
  if (!(utilization > 0)) return undefined
  return Math.trunc(Math.min(MOST, qps / utilization))
}

interface Told {
  weight: number
  sinceMs: number
  lastMs: number
}

export class WeightedByReport implements Balancer {
  readonly updateEveryMs: number
  readonly #tuning: WeightTuning
  readonly #random: Random
  #servers: readonly Server[] = []
  readonly #told = new Map<Server, Told>()
  #weights = new Map<Server, number>()
  #schedule: EarliestDeadline<Server>
  /** Caches the weight of each report, because many answers carry the same one. */
  readonly #read = new WeakMap<LoadReport, number>()

  constructor(random: Random, tuning: WeightTuning = SHIPPED) {
    this.#random = random
    this.#tuning = tuning
    this.updateEveryMs = tuning.updateEveryMs
    this.#schedule = new EarliestDeadline([], random)
  }

  /** The weights in use, by server. */
  get weights(): ReadonlyMap<Server, number> {
    return this.#weights
  }

  rotation(servers: readonly Server[], nowMs: number): void {
    this.#servers = servers
    this.#weights = new Map()
    this.update(nowMs)
  }

  /** Retries as Envoy does with host_selection_retry_max_attempts. */
  choose(avoid?: Server): Server | undefined {
    let server = this.#schedule.next()
    for (let again = 0; server === avoid && server !== undefined && again < AGAIN; again++)
      server = this.#schedule.next()
    return server
  }

  reported(server: Server, report: LoadReport, nowMs: number): void {
    const weight = this.#read.get(report) ?? weightOf(report, this.#tuning.errorUtilizationPenalty)
    if (weight === undefined) return
    this.#read.set(report, weight)
    const told = this.#told.get(server)
    if (told === undefined) this.#told.set(server, { weight, sinceMs: nowMs, lastMs: nowMs })
    else {
      told.weight = weight
      told.lastMs = nowMs
      if (told.sinceMs === Number.POSITIVE_INFINITY) told.sinceMs = nowMs
    }
  }

  update(nowMs: number): void {
    const valid = new Map(this.#servers.map(server => [server, this.#valid(server, nowMs)]))
    const otherwise = median([...valid.values()].filter(weight => weight !== undefined))
    // Envoy's least weight is 1.
    const weights = new Map([...valid].map(([server, weight]) => [server, Math.max(1, weight ?? otherwise)]))
    if (this.#servers.every(server => this.#weights.get(server) === weights.get(server))) return
    this.#weights = weights
    this.#schedule = new EarliestDeadline([...weights], this.#random)
  }

  #valid(server: Server, nowMs: number): number | undefined {
    const told = this.#told.get(server)
    if (told === undefined || told.sinceMs > nowMs - this.#tuning.blackoutMs) return undefined
    if (told.lastMs >= nowMs - this.#tuning.expirationMs) return told.weight
    told.sinceMs = Number.POSITIVE_INFINITY
    return undefined
  }
}

function median(weights: number[]): number {
  if (weights.length === 0) return 1
  weights.sort((a, b) => a - b)
  const middle = weights.length >> 1
  return weights.length % 2 === 1 ? weights[middle]! : Math.trunc((weights[middle - 1]! + weights[middle]!) / 2)
}
