/**
 * How often one phone may send: a token bucket per walker. Pure; told the time. Bounded: the walker
 * that has not sent for longest is forgotten first, with a full bucket, as it would have by then anyway.
 */

/** A phone sends once a second; one that comes back from an hour without signal sends 36 requests of 100 positions. */
const PER_SECOND = 4
const BURST = 40
/** About 100 bytes each. */
const MOST_PHONES = 50_000

interface Bucket {
  tokens: number
  at: number
}

export class PhoneQuota {
  readonly #buckets = new Map<string, Bucket>()
  readonly #most: number

  constructor(most: number = MOST_PHONES) {
    this.#most = most
  }

  get size(): number {
    return this.#buckets.size
  }

  /** 0 when the request may pass; otherwise how long to wait, ms. */
  take(phone: string, now: number): number {
    const bucket = this.#buckets.get(phone) ?? { tokens: BURST, at: now }
    bucket.tokens = Math.min(BURST, bucket.tokens + ((now - bucket.at) / 1000) * PER_SECOND)
    bucket.at = now
    // Taken out and put back in: a Map keeps the order of insertion, so its first is the one silent for longest.
    this.#buckets.delete(phone)
    this.#buckets.set(phone, bucket)
    if (this.#buckets.size > this.#most) this.#buckets.delete(this.#buckets.keys().next().value!)
    if (bucket.tokens < 1) return ((1 - bucket.tokens) / PER_SECOND) * 1000
    bucket.tokens--
    return 0
  }
}
