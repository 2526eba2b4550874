/** Statistics of a stream of numbers: counts, extremes, mean, quantiles; and the lines that were not numbers. Pure. */
import { QuantileSketch } from './quantile-sketch.ts'

type Quantile = 'p50' | 'p90' | 'p95' | 'p99' | 'p999'
export type NumberFigures = Readonly<Record<'count' | 'min' | 'max' | 'mean' | 'last' | Quantile, number>>

/** Percentiles of up to this many numbers are exact; of more numbers, they have the sketch's accuracy. */
const KEPT_EXACTLY = 10_000
/** A longer line cannot be a number, and is not stored. */
export const LONGEST_LINE = 1024

export class RunningNumbers {
  readonly #sketch = new QuantileSketch()
  #exact: number[] | undefined = []
  #min = Number.POSITIVE_INFINITY
  #max = Number.NEGATIVE_INFINITY
  #mean = 0
  #last = Number.NaN
  /** Lines that are neither empty nor a number. */
  notNumbers = 0
  firstBad: string | undefined

  get count(): number {
    return this.#sketch.count
  }

  /** Processes one line; ignores empty ones. */
  line(text: string): void {
    const trimmed = text.trim()
    if (trimmed === '') return
    // Only the beginning of a longer line arrives, and that may look like a number.
    const value = text.length <= LONGEST_LINE && NUMBER.test(trimmed) ? Number(trimmed) : Number.NaN
    if (!Number.isFinite(value)) {
      this.notNumbers++
      this.firstBad ??= trimmed
      return
    }
    this.#sketch.record(value)
    if (this.#exact !== undefined && this.#exact.push(value) > KEPT_EXACTLY) this.#exact = undefined
    // Welford's method: in a sum, many large numbers would hide small ones. Divides first to avoid overflow.
    this.#mean += value / this.#sketch.count - this.#mean / this.#sketch.count
    this.#min = Math.min(this.#min, value)
    this.#max = Math.max(this.#max, value)
    this.#last = value
  }

  /** Undefined before the first number. */
  figures(): NumberFigures | undefined {
    if (this.count === 0) return undefined
    const [p50, p90, p95, p99, p999] = this.#quantiles([0.5, 0.9, 0.95, 0.99, 0.999]) as Five
    const { count } = this
    return { count, min: this.#min, max: this.#max, mean: this.#mean, last: this.#last, p50, p90, p95, p99, p999 }
  }

  #quantiles(shares: readonly number[]): number[] {
    if (this.#exact === undefined) {
      return this.#sketch.quantiles(shares).map(value => Math.min(this.#max, Math.max(this.#min, value)))
    }
    const sorted = this.#exact.toSorted((a, b) => a - b)
    return shares.map(share => sorted[Math.max(1, Math.ceil(share * sorted.length)) - 1]!)
  }

  /** `Meas: 18 Min: 3 Max: 4 Avg: 4 Cur: 4`: figures that need no sorting, for a line that is often rewritten. */
  get live(): string {
    if (this.count === 0)
      return this.notNumbers === 0 ? 'no number yet' : `no number yet, ${this.notNumbers} other lines`
    const bad = this.notNumbers === 0 ? '' : ` Not numbers: ${this.notNumbers}`
    return `Meas: ${this.count} Min: ${short(this.#min)} Max: ${short(this.#max)} Avg: ${short(this.#mean)} Cur: ${short(this.#last)}${bad}`
  }
}

/** Splits a stream of text into lines. Of a line that is too long, it stores only the beginning. */
export class BoundedLines {
  readonly #onLine: (line: string) => void
  readonly #longest: number
  #rest = ''

  /** A longer line is reported with `longest` + 1 characters, so that it is recognised as too long. */
  constructor(longest: number, onLine: (line: string) => void) {
    this.#longest = longest
    this.#onLine = onLine
  }

  add(text: string): void {
    for (const [at, part] of text.split('\n').entries()) {
      if (at > 0) this.#flush()
      this.#rest = (this.#rest + part).slice(0, this.#longest + 1)
    }
  }

  /** The last line may have no newline. */
  end(): void {
    if (this.#rest !== '') this.#flush()
  }

  #flush(): void {
    this.#onLine(this.#rest)
    this.#rest = ''
  }
}

type Five = [number, number, number, number, number]

/** Decimal numbers; not everything that Number() accepts (`0x10`, an empty string, Infinity). */
const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i

/** Three digits after the point, or four significant ones below 1; without trailing zeros. */
export function short(value: number): string {
  if (value === 0 || Math.abs(value) >= 1) return String(Number(value.toFixed(3)))
  return String(Number(value.toPrecision(4)))
}
