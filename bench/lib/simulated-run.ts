/** Simulated load runs on a made-up machine with known noise, as the documents that `meltlab attack --json` prints. */
import { Histogram } from '../../packages/lab/src/load/histogram.ts'
import type { LoadPlan } from '../../packages/lab/src/load/plan.ts'
import { type AttackDocument, attackDocument } from '../../packages/lab/src/results/attack-document.ts'
import { originHere } from '../../packages/lab/src/results/origin.ts'

export interface Noise {
  readonly name: string
  /** Standard deviation of the speed from run to run, as a share. */
  readonly scatter: number
  /** Share of the runs that are slower by a factor of e^x; x is half-Cauchy with a median of 0.1, and at most 3. */
  readonly disturbed: number
  /** By how much every run is slower than the one before, as a share. */
  readonly drift: number
  /** Share of the machine's state (3 % up or down) that lasts until the next run, 0 to 1. */
  readonly memory: number
}

const DURATION_MS = 5000
const USERS = 10
const MEDIAN_MS = 20
/** Latencies within a run are lognormal. One in a hundred is up to 50 times as long (Pareto, exponent 1.5). */
const SIGMA = 0.4
const TAIL = 0.01
const TAIL_EXPONENT = 1.5
const ERRORS = 0.002
const STATE = 0.03

export class SimulatedMachine {
  readonly #noise: Noise
  readonly #random: () => number
  #runs = 0
  #state = 0

  constructor(noise: Noise, random: () => number) {
    this.#noise = noise
    this.#random = random
  }

  /** The next run of a program that takes `slower` times as long as the usual one. */
  run(slower: number): AttackDocument {
    const { scatter, disturbed, drift, memory } = this.#noise
    const at = this.#runs++
    this.#state = memory * this.#state + Math.sqrt(1 - memory ** 2) * STATE * this.#normal()
    const hit = this.#random() < disturbed ? 0.1 * Math.abs(Math.tan(Math.PI * (this.#random() - 0.5))) : 0
    const median = MEDIAN_MS * slower * Math.exp(drift * at + this.#state + scatter * this.#normal() + Math.min(3, hit))
    const okLatency = new Histogram()
    let busyMs = 0
    let failed = 0
    while (busyMs < DURATION_MS * USERS) {
      const tail = this.#random() < TAIL ? (1 - this.#random()) ** (-1 / TAIL_EXPONENT) : 1
      const latencyMs = median * Math.exp(SIGMA * this.#normal()) * Math.min(50, tail)
      busyMs += latencyMs
      if (this.#random() < ERRORS) failed++
      else okLatency.record(latencyMs)
    }
    return documentOf(okLatency, failed, at)
  }

  #normal(): number {
    return Math.sqrt(-2 * Math.log(1 - this.#random())) * Math.cos(2 * Math.PI * this.#random())
  }
}

const PLAN: LoadPlan = {
  url: 'http://127.0.0.1:3000/',
  method: 'GET',
  headers: {},
  body: undefined,
  arrival: { kind: 'closed', users: USERS, durationMs: DURATION_MS, thinkMs: 0 },
  connections: { kind: 'keep-alive', count: USERS, max: USERS },
  timeoutMs: 10_000,
  connectTimeoutMs: 10_000,
  sloMs: 1000,
  threads: 1,
}

function documentOf(okLatency: Histogram, failed: number, at: number): AttackDocument {
  const none = new Histogram()
  const answers = okLatency.count
  return attackDocument(
    PLAN,
    {
      scheduled: answers + failed,
      sent: answers + failed,
      unsent: 0,
      answered: { 200: answers },
      failed: { reset: failed },
      good: answers,
      elapsedMs: DURATION_MS,
      bytesRead: 0,
      bodyBytes: 0,
      bodyBytesSent: 0,
      okLatency,
      shedLatency: none,
      otherLatency: none,
      failedAfter: none,
      sendLag: none,
      seconds: [],
      targets: [],
      cpuPerRequestUs: 0,
      certified: true,
      why: [],
      certificate: { code: 'certified', doubts: [], intervals: {} },
      clean: { ok: okLatency, shed: none, other: none, failed: none },
      acknowledged: [],
      incomplete: false,
    },
    originHere('simulated', new Date(Date.UTC(2026, 0, 1) + at * 10_000).toISOString()),
  )
}
