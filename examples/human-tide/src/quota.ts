/**
 * Limits how often one phone may send: a token bucket per walker. Pure: the time is passed in. The number of buckets is
 * bounded: the walker that has been silent for longest is forgotten first. Its next request gets a full bucket, as it
 * would have by then anyway.
 */

/** A phone sends once a second; after an hour without signal it sends 36 requests of 100 positions. */
const PER_SECOND = 4
const BURST = 40
/** Maximum number of buckets, about 100 bytes each. */
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

  /** Returns 0 if the request may pass, otherwise the time to wait, ms. */
  take(phone: string, now: number): number {
    const bucket = this.#buckets.get(phone) ?? { tokens: BURST, at: now }
    bucket.tokens = Math.min(BURST, bucket.tokens + ((now - bucket.at) / 1000) * PER_SECOND)
    bucket.at = now
    // A Map keeps the order of insertion, so its first entry is the phone that has been silent for longest.
    this.#buckets.delete(phone)
    this.#buckets.set(phone, bucket)
    if (this.#buckets.size > this.#most) this.#buckets.delete(this.#buckets.keys().next().value!)
    if (bucket.tokens < 1) return ((1 - bucket.tokens) / PER_SECOND) * 1000
    bucket.tokens--
    return 0
  }
}
