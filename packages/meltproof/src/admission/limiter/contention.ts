/**
 * Whether requests in service wait for each other: then service takes in proportion to how many were in service when each
 * came. Answers are gathered into batches, and a batch is compared with the latest one that found clearly fewer. What
 * merely takes long takes as long whatever the number; and where service became slower for another reason, those who came
 * while few were in service are as slow. Pure.
 */
export interface ContentionTuning {
  /** A batch is compared with the latest one that found fewer by this factor. */
  readonly larger: number
  /** Service must rise by at least this share of what the number rose by; */
  readonly slower: number
  /** and by no more than so many times as much: waiting for more requests takes no longer than they are more. */
  readonly atMost: number
  /** Service times of a batch must spread by less than this share of their mean: what waits is not quick by chance. */
  readonly alike: number
  /** By so many standard errors. */
  readonly clearly: number
  /** A batch is no smaller. */
  readonly least: number
  /** And no smaller than this share of how many are in service, or the slow ones are missing. */
  readonly ofThose: number
  /** Nor do answers say much while those in service have grown older by so many times what the answers took. */
  readonly missing: number
}

/** Batches that are remembered. */
const KEPT = 16

interface Batch {
  /** How many were in service when each came, with it; the mean. */
  readonly inService: number
  readonly serviceMs: number
  /** Squared standard error of the mean service time. */
  readonly variance: number
}

export class Contention {
  readonly #tuning: ContentionTuning
  /** The newest last. */
  readonly #batches: Batch[] = []
  // The batch under way.
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
   * A request was answered that came when so many were in service, with it. The number from which on they wait for each
   * other, when that shows. `agesMs`: how long those in service have been, together; undefined for a kind that nothing
   * limits, which may grow faster than it is answered: there the slow ones are always missing.
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
    // Where the slow ones are missing, those that came among more must have taken longer than others of their batch.
    const rises = agesMs !== undefined || this.#products > inService * this.#services
    const knee = rises ? this.#kneeOf(batch, Math.sqrt(spread)) : undefined
    // Few of very different service times may be slow by chance: go on until it is clear.
    if (knee === 'unclear') return undefined
    this.#beginBatch()
    if (knee === undefined && this.#batches.push(batch) > KEPT) this.#batches.shift()
    return knee
  }

  #kneeOf({ inService, serviceMs, variance }: Batch, spreadMs: number): number | 'unclear' | undefined {
    const { larger, slower, atMost, alike, clearly } = this.#tuning
    const base = this.#batches.findLast(each => each.inService <= inService / larger)
    if (base === undefined || spreadMs >= alike * serviceMs) return undefined
    const more = inService / base.inService - 1
    const surplus = serviceMs - base.serviceMs * (1 + slower * more)
    if (surplus <= 0 || serviceMs > base.serviceMs * (1 + atMost * more)) return undefined
    if (surplus < clearly * Math.sqrt(variance + base.variance)) return 'unclear'
    return Math.max((inService * base.serviceMs) / serviceMs, 1)
  }

  #beginBatch(): void {
    this.#count = 0
    this.#inService = 0
    this.#services = 0
    this.#products = 0
    this.#squares = 0
  }
}
