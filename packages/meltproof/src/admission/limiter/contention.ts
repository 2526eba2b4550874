/**
 * Tells whether requests in service wait for each other: their service time then grows with the number in service when
 * each came. Answers are gathered into batches, and each is compared with the latest batch that came among clearly
 * fewer. A slow kind takes the same time at any number, and other slowness shows among few too. Pure.
 */
export interface ContentionTuning {
  /** A batch is compared with the latest one that had fewer in service by this factor. */
  readonly larger: number
  /** Service time must rise by at least this share of the rise in number, */
  readonly slower: number
  /** and at most this multiple: a wait for others grows no faster than their number. */
  readonly atMost: number
  /**
   * Service times of a batch must spread by less than this share of their mean: a request that waits is not quick by
   * chance.
   */
  readonly alike: number
  /** Standard errors that make the rise clear. */
  readonly clearly: number
  /** Answers in a batch, at least: the mean of fewer is noise. */
  readonly least: number
  /** and as a share of those in service, or the slow ones are missing. */
  readonly ofThose: number
  /** A batch says little while requests in service aged by more than this multiple of its service times. */
  readonly missing: number
  /**
   * A knee at which requests take less than this, ms, is taken for one at which they take as long: nothing is gained below,
   * and where the suspicion is wrong, its test holds up few.
   */
  readonly soonMs: number
}

/** Batches that are remembered. */
const KEPT = 16

interface Batch {
  readonly inService: number
  readonly serviceMs: number
  /** Squared standard error of the mean service time. */
  readonly variance: number
}

export class Contention {
  readonly #tuning: ContentionTuning
  readonly #batches: Batch[] = []
  #count = 0
  #inService = 0
  #services = 0
  #products = 0
  #squares = 0
  #agesThen = 0

  constructor(tuning: ContentionTuning) {
    this.#tuning = tuning
  }

  clear(): void {
    this.#batches.length = 0
    this.#beginBatch()
  }

  /**
   * Returns the number in service from which on requests wait for each other, once that shows. `agesMs`: summed age of
   * those in service; undefined for a kind without a limit, whose slow requests are always missing.
   */
  completed(inServiceThen: number, serviceMs: number, agesMs: number | undefined): number | undefined {
    if (this.#count === 0) this.#agesThen = agesMs ?? 0
    this.#count++
    this.#inService += inServiceThen
    this.#services += serviceMs
    this.#products += inServiceThen * serviceMs
    this.#squares += serviceMs * serviceMs
    const { least, ofThose, missing } = this.#tuning
    const count = this.#count
    const inService = this.#inService / count
    if (count < least || count < ofThose * inService) return undefined
    if (agesMs !== undefined && agesMs - this.#agesThen > missing * this.#services) return undefined
    const mean = this.#services / count
    const spread = Math.max(0, this.#squares / count - mean * mean)
    const batch = { inService, serviceMs: mean, variance: spread / count }
    // Where slow requests are missing, those that came among more must be slower than others of their batch.
    const rises = agesMs !== undefined || this.#products > inService * this.#services
    const knee = rises ? this.#kneeOf(batch, Math.sqrt(spread)) : undefined
    // A few very different service times may be slow by chance, so the batch goes on until it is clear.
    if (knee === 'unclear') return undefined
    this.#beginBatch()
    if (knee === undefined && this.#batches.push(batch) > KEPT) this.#batches.shift()
    return knee
  }

  #kneeOf({ inService, serviceMs, variance }: Batch, spreadMs: number): number | 'unclear' | undefined {
    const { larger, slower, atMost, alike, clearly, soonMs } = this.#tuning
    const base = this.#batches.findLast(each => each.inService <= inService / larger)
    if (base === undefined || spreadMs >= alike * serviceMs) return undefined
    const more = inService / base.inService - 1
    const surplus = serviceMs - base.serviceMs * (1 + slower * more)
    if (surplus <= 0 || serviceMs > base.serviceMs * (1 + atMost * more)) return undefined
    if (surplus < clearly * Math.sqrt(variance + base.variance)) return 'unclear'
    return Math.max((inService * Math.max(base.serviceMs, soonMs)) / serviceMs, 1)
  }

  #beginBatch(): void {
    this.#count = 0
    this.#inService = 0
    this.#services = 0
    this.#products = 0
    this.#squares = 0
  }
}
