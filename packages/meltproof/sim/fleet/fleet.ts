/** Simulates clients, proxies and tiers of members, and counts the outcomes of the requests second by second. */
import { ConcurrencyLimiter } from '../../src/admission/limiter/concurrency-limiter.ts'
import { Chain } from '../../src/chain.ts'
import { RetryBudget } from '../../src/outbound/retry-budget.ts'
import { Random } from '../random.ts'
import type { Step, Workload } from '../workload.ts'
import { FleetClock } from './clock.ts'
import { Front, type FrontOptions } from './front.ts'
import { callThrough } from './hop.ts'
import { type FleetRequest, Member } from './member.ts'

/** The proxy in front of each tier, and whether the members run meltproof. */
export interface Arm {
  readonly name: string
  readonly protected: boolean
  readonly front: (random: Random) => Omit<FrontOptions, 'random'>
  /** Tiers count their retries and inform each other of them (docs/tiers.md). @default false */
  readonly chained?: boolean
}

export interface TierPlan {
  /** One workload for each member at the start. */
  readonly members: readonly Workload[]
  /** The workload of members that are added later. @default the first of `members` */
  readonly more?: Workload
  /** Proxies in front of the tier. Each knows only its own requests. @default 1 */
  readonly balancers?: number
}

export interface FleetPlan {
  readonly seconds: number
  /** Requests per second at a time. */
  readonly rate: (nowMs: number) => number
  /** Clients call the first tier. Each tier calls the next before the last step of its work. */
  readonly tiers: readonly TierPlan[]
  /** Clients give up after this time, ms. @default 3000 */
  readonly patienceMs?: number
  /** The most times a client sends a request. @default 1 */
  readonly attempts?: number
  /** Schedules what happens to the members. */
  readonly events?: (fleet: Fleet) => void
}

export interface FleetSecond {
  offered: number
  good: number
  late: number
  /** Refused by a member (`shed`) or by a proxy (`turnedAway`). */
  shed: number
  turnedAway: number
  /** Answered 500. */
  failed: number
  /** The process died after the request had begun, or no process listened. */
  lost: number
  gaveUp: number
}

export interface FleetResult {
  readonly seconds: readonly FleetSecond[]
  /**
   * Requests that arrived, and those answered well, by second, tier and member; cumulative at the end of each second.
   */
  readonly came: readonly (readonly (readonly number[])[])[]
  readonly good: readonly (readonly (readonly number[])[])[]
  /** Members of the first tier at the end of each second. */
  readonly members: readonly number[]
  /** Latencies of good answers, sorted, ms. */
  readonly latencies: Float64Array
  readonly fleet: Fleet
}

const SLO_MS = 1000
const HOP_MS = 0.3

export class Fleet {
  readonly clock = new FleetClock()
  readonly tiers: readonly Tier[]
  readonly random: Random

  constructor(plan: FleetPlan, arm: Arm, seed: number) {
    this.random = new Random(seed)
    const tiers: Tier[] = []
    // The last tier is built first, because each tier needs the address of the tier that it calls.
    for (const tier of plan.tiers.toReversed())
      tiers.unshift(new Tier(this.clock, tier, arm, seed + 31 * tiers.length, tiers[0]))
    this.tiers = tiers
  }

  /** The members that clients call. */
  get members(): readonly Member[] {
    return this.tiers[0]!.members
  }
}

export class Tier {
  readonly fronts: readonly Front[]
  readonly members: Member[] = []
  readonly #clock: FleetClock
  readonly #plan: TierPlan
  readonly #arm: Arm
  readonly #seed: number
  readonly #below: Tier | undefined
  readonly #random: Random
  #made = 0

  constructor(clock: FleetClock, plan: TierPlan, arm: Arm, seed: number, below: Tier | undefined) {
    this.#clock = clock
    this.#plan = plan
    this.#arm = arm
    this.#seed = seed
    this.#below = below
    this.#random = new Random(seed ^ 0xf1ee7)
    const front = (): Front => new Front(clock, { hopMs: HOP_MS, random: this.#random, ...arm.front(this.#random) })
    this.fronts = Array.from({ length: plan.balancers ?? 1 }, front)
    for (const workload of plan.members) this.#add(workload).start()
    for (const member of this.members) this.#announce(member)
  }

  /** Adds a member that listens after `startMs`. */
  grow(startMs: number): void {
    const member = this.#add(this.#plan.more ?? this.#plan.members[0]!)
    this.#clock.at(this.#clock.nowMs + startMs, () => {
      member.start()
      this.#announce(member)
    })
  }

  /** Drains and removes the newest member. */
  shrink(delayMs: number): void {
    const member = this.members.pop()
    member?.drain(delayMs, () => {
      for (const front of this.fronts) front.remove(member)
    })
  }

  /** Returns a random proxy of the tier, for one request. */
  get front(): Front {
    return this.fronts[Math.floor(this.#random.next() * this.fronts.length)]!
  }

  #announce(member: Member): void {
    for (const front of this.fronts) front.add(member)
  }

  #add(workload: Workload): Member {
    const id = this.#made++
    const process = {
      workload: this.#below === undefined ? workload : this.#asking(workload, this.#below),
      limiter: this.#arm.protected ? (busyMs: () => number) => new ConcurrencyLimiter(busyMs) : undefined,
    }
    const member = new Member(this.#clock, id, process, HOP_MS, this.#seed + 101 * id)
    this.members.push(member)
    return member
  }

  /** Makes requests call the tier below before their last step. */
  #asking(workload: Workload, below: Tier): Workload {
    const [clock, random] = [this.#clock, this.#random]
    const budget = this.#arm.chained === true ? new RetryBudget() : undefined
    const call: Step = {
      call: (atMs, request, answered) => {
        const { try: one, member, createdAt } = request as FleetRequest
        const chain = new Chain({ retried: one.retried, onSpent: () => Object.assign(request, { mark: true }) })
        clock.at(atMs, () =>
          callThrough(
            { clock, front: below.front, random, timeoutMs: SLO_MS, budget },
            createdAt,
            chain,
            (end, endMs) => {
              answered(endMs, end !== 'answered')
              member.wake()
            },
          ),
        )
      },
    }
    return {
      ...workload,
      steps: (...given) => {
        const steps = workload.steps(...given)
        return [...steps.slice(0, -1), call, ...steps.slice(-1)]
      },
    }
  }
}

export function simulateFleet(plan: FleetPlan, arm: Arm, seed: number = 1): FleetResult {
  const { seconds, rate, patienceMs = 3000, attempts = 1 } = plan
  const fleet = new Fleet(plan, arm, seed)
  const { clock, random } = fleet
  const perSecond = Array.from(
    { length: seconds },
    (): FleetSecond => ({
      offered: 0,
      good: 0,
      late: 0,
      shed: 0,
      turnedAway: 0,
      failed: 0,
      lost: 0,
      gaveUp: 0,
    }),
  )
  const latencies: number[] = []
  const ask = (createdAt: number): void => {
    const second = perSecond[Math.floor(createdAt / 1000)]!
    second.offered++
    const hop = { clock, front: fleet.tiers[0]!.front, random, timeoutMs: patienceMs, budget: undefined, attempts }
    callThrough(hop, createdAt, new Chain(), (end, atMs) => {
      const latency = atMs - createdAt
      if (end === 'turned away') second.turnedAway++
      else if (end === 'timeout') second.gaveUp++
      else if (end !== 'answered') second[end]++
      else if (latency <= SLO_MS) {
        second.good++
        latencies.push(latency)
      } else second.late++
    })
  }
  const comes = (fromMs: number): void => {
    const now = rate(fromMs)
    const next = now > 0 ? fromMs + random.exponential(1000 / now) : fromMs + 100
    if (next >= seconds * 1000) return
    clock.at(next, () => {
      if (now > 0) ask(next)
      comes(next)
    })
  }
  comes(0)
  plan.events?.(fleet)
  const each = (figure: (member: Member) => number): number[][] => fleet.tiers.map(({ members }) => members.map(figure))
  const came: number[][][] = []
  const good: number[][][] = []
  const members: number[] = []
  clock.every(1000, 1000, () => {
    came.push(each(member => member.came))
    good.push(each(member => member.good))
    members.push(fleet.members.length)
  })
  clock.run(seconds * 1000 + 5000)
  return { seconds: perSecond, came, good, members, latencies: Float64Array.from(latencies).sort(), fleet }
}
