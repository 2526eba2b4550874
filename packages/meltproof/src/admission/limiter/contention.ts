/**
 * Whether those in service wait for each other: then service takes in proportion to how many were there when each came.
 * Completions are gathered into batches, and a batch is compared with the latest one that found clearly fewer there. What
 * merely takes long takes as long whoever is there; and where service became slower for another reason, those who came
 * while few were there are as slow. Pure.
 */
export interface ContentionTuning {
  /** A batch is compared with the latest one that found fewer by this factor. */
  readonly larger: number
  /** Service must rise by at least this share of what the number rose by. */
  readonly slower: number
  /** And by no more than so many times as much: who waits for the others waits no longer than they are more. */
  readonly atMost: number
  /** Service times of a batch must spread by less than this share of their mean: who waits for others is not quick by chance. */
  readonly alike: number
  /** By so many standard errors. */
  readonly clearly: number
  /** A batch is no smaller. */
  readonly least: number
  /** And no smaller than this share of how many are there, or the slow ones are missing. */
  readonly ofThose: number
  /** Nor do those who left say much while those who are there have grown older by so many times what those took. */
  readonly missing: number
}

interface Batch {
  /** How many each found there, itself included; the mean. */
  readonly among: number
  readonly serviceMs: number
  /** Squared standard error of the mean service time. */
  readonly variance: number
}

export class Contention {
  readonly #tuning: ContentionTuning
  /** Each with clearly more or fewer than the one before, the newest last. */
  readonly #batches: Batch[] = []
  #count = 0
  #amongs = 0
  #services = 0
  #products = 0
  #agesThen = 0
  #squares = 0

  constructor(tuning: ContentionTuning) {
    this.#tuning = tuning
  }

  clear(): void {
    this.#batches.length = 0
    this.#beginBatch()
  }

  /**
   * Somebody was answered who found so many there, itself included. The number from which on they wait for each other,
   * when that shows; else undefined.
   *
   * `agesMs`: how long those who are there have been, together. Undefined for a kind that nothing limits, which may grow
   * faster than it is answered: there the slow ones are always missing, and whoever came among more must have taken longer
   * than the others who leave with it. Where everybody takes as long as it takes, whoever came later took less.
   */
  completed(among: number, serviceMs: number, agesMs: number | undefined): number | undefined {
    if (this.#count === 0) this.#agesThen = agesMs ?? 0
    this.#count++
    this.#amongs += among
    this.#services += serviceMs
    this.#products += among * serviceMs
    this.#squares += serviceMs * serviceMs
    const { least, ofThose, larger, slower, atMost, clearly, missing } = this.#tuning
    const count = this.#count
    const number = this.#amongs / count
    if (count < least || count < ofThose * number) return undefined
    // Those who are there have grown older by more than those who left had taken: the slow ones are still missing.
    if (agesMs !== undefined && agesMs - this.#agesThen > missing * this.#services && count < MANY) return undefined
    const mean = this.#services / count
    const rises = agesMs !== undefined || this.#products > number * this.#services
    const variance = Math.max(0, this.#squares / count - mean * mean) / count
    const base = this.#latestBelow(number / larger)
    if (base !== undefined && rises) {
      const more = number / base.among - 1
      const needed = base.serviceMs * (1 + slower * more)
      const surplus = mean - needed
      const alike = variance * count < (this.#tuning.alike * mean) ** 2
      if (surplus > 0 && alike && mean <= base.serviceMs * (1 + atMost * more)) {
        // Few of very different service times may be slow by chance: go on until it is clear, or they are many.
        if (surplus >= clearly * Math.sqrt(variance + base.variance)) {
          this.#beginBatch()
          return Math.max((number * base.serviceMs) / mean, 1)
        }
        if (count < MANY) return undefined
      }
    }
    this.#note({ among: number, serviceMs: mean, variance })
    this.#beginBatch()
    return undefined
  }

  #latestBelow(number: number): Batch | undefined {
    for (let i = this.#batches.length - 1; i >= 0; i--) if (this.#batches[i]!.among <= number) return this.#batches[i]
    return undefined
  }

  #note(batch: Batch): void {
    const last = this.#batches.at(-1)
    if (last !== undefined && Math.abs(Math.log(batch.among / last.among)) < ALIKE) this.#batches.pop()
    else if (this.#batches.length === KEPT) this.#batches.shift()
    this.#batches.push(batch)
  }

  #beginBatch(): void {
    this.#count = 0
    this.#amongs = 0
    this.#services = 0
    this.#products = 0
    this.#squares = 0
  }
}

/** So many batches are. */
const KEPT = 16
/** Numbers nearer than this (natural logarithm) are alike. */
const ALIKE = 0.1
/** After so many a mean is believed whatever its error. */
const MANY = 200
