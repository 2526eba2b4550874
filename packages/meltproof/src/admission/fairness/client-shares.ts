/**
 * Max-min fairness between clients (fair-shares.ts). Clients are hashed to buckets (stochastic fairness queueing,
 * McKenney 1990). Each client has two buckets and the better one decides, so a client that shares one bucket with a
 * heavy client still gets its share (stochastic fair blue, Feng et al. 2001). Pure.
 */
import { FairShares } from './fair-shares.ts'
import { mix } from './path-hash.ts'

const BUCKET_BITS = 8
const BUCKETS = 2 ** BUCKET_BITS
/** A client that has had no demand so far may have this many requests with priority per window (fair-shares.ts). */
const NEWCOMERS = 2
/** One row of buckets gets a new salt at this interval, ms, so that clients do not share buckets for long. */
const RESALT_MS = 5000

export class ClientShares {
  readonly #random: () => number
  readonly #rows: { readonly shares: FairShares; salt: number }[]
  #dealt = 0
  #dealAt = Number.NEGATIVE_INFINITY

  constructor(random: () => number = Math.random) {
    this.#random = random
    this.#rows = [0, 1].map(() => ({ shares: new FairShares(BUCKETS, NEWCOMERS), salt: this.#salt() }))
  }

  arrived(client: number, nowMs: number, limit: number): void {
    if (nowMs >= this.#dealAt) this.#resalt(nowMs)
    for (const { shares, salt } of this.#rows) shares.arrived(bucketOf(client, salt), nowMs, limit)
  }

  served(client: number, serviceMs: number): void {
    for (const { shares, salt } of this.#rows) shares.served(bucketOf(client, salt), serviceMs)
  }

  within(client: number, nowMs: number): boolean {
    for (const { shares, salt } of this.#rows) if (shares.within(bucketOf(client, salt), nowMs)) return true
    return false
  }

  /** Counts a request in both buckets of its client: otherwise a client could use up the shares of both. */
  comesFirst(client: number): void {
    for (const { shares, salt } of this.#rows) shares.comesFirst(bucketOf(client, salt))
  }

  reset(nowMs: number): void {
    for (const { shares } of this.#rows) shares.reset(nowMs)
  }

  #resalt(nowMs: number): void {
    const row = this.#rows[this.#dealt++ % this.#rows.length]!
    row.salt = this.#salt()
    row.shares.reset(nowMs)
    this.#dealAt = nowMs + RESALT_MS
  }

  #salt(): number {
    return (this.#random() * 2 ** 32) | 0
  }
}

function bucketOf(client: number, salt: number): number {
  return mix(client, salt) >>> (32 - BUCKET_BITS)
}
