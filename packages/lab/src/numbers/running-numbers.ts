/** Figures of a stream of numbers as it passes: counts, extremes, mean, quantiles; and the lines that were none. Pure. */
import { QuantileSketch } from './quantile-sketch.ts'

type Quantile = 'p50' | 'p90' | 'p95' | 'p99' | 'p999'
export type NumberFigures = Readonly<Record<'count' | 'min' | 'max' | 'mean' | 'last' | Quantile, number>>

/** So many numbers are kept as they are, and their percentiles are exact; of more, within the sketch's accuracy. */
const KEPT_EXACTLY = 10_000
/** A line that is no number is shown so far. */
const SHOWN_CHARACTERS = 60
/** A line longer than this can not be a number, and is not collected. */
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
  /** The first of them, shortened, without control characters. */
  firstBad: string | undefined

  get count(): number {
    return this.#sketch.count
  }

  /** One line of input. Empty ones count as nothing. */
  line(text: string): void {
    const trimmed = text.trim()
    if (trimmed === '') return
    // Of a longer line only the beginning came, which may look like a number.
    const value = text.length <= LONGEST_LINE && NUMBER.test(trimmed) ? Number(trimmed) : Number.NaN
    if (!Number.isFinite(value)) {
      this.notNumbers++
      this.firstBad ??= printable(trimmed)
      return
    }
    this.#sketch.record(value)
    if (this.#exact !== undefined && this.#exact.push(value) > KEPT_EXACTLY) this.#exact = undefined
    // Welford's form: a sum of many large numbers would lose the small ones. Divided first, or it overflows.
    this.#mean += value / this.#sketch.count - this.#mean / this.#sketch.count
    this.#min = Math.min(this.#min, value)
    this.#max = Math.max(this.#max, value)
    this.#last = value
  }

  /** Undefined before the first number. */
  figures(): NumberFigures | undefined {
    if (this.count === 0) return undefined
    const [p50, p90, p95, p99, p999] = this.#quantiles([0.5, 0.9, 0.95, 0.99, 0.999]) as Five
    return {
      count: this.count,
      min: this.#min,
      max: this.#max,
      mean: this.#mean,
      last: this.#last,
      p50,
      p90,
      p95,
      p99,
      p999,
    }
  }

  #quantiles(shares: readonly number[]): number[] {
    if (this.#exact === undefined) {
      return this.#sketch.quantiles(shares).map(value => Math.min(this.#max, Math.max(this.#min, value)))
    }
    const sorted = this.#exact.toSorted((a, b) => a - b)
    return shares.map(share => sorted[Math.max(1, Math.ceil(share * sorted.length)) - 1]!)
  }

  /** `Meas: 18 Min: 3 Max: 4 Avg: 4 Cur: 4`: what can be said without sorting anything, for a line that is rewritten often. */
  get live(): string {
    if (this.count === 0)
      return this.notNumbers === 0 ? 'no number yet' : `no number yet, ${this.notNumbers} other lines`
    const bad = this.notNumbers === 0 ? '' : ` Not numbers: ${this.notNumbers}`
    return `Meas: ${this.count} Min: ${short(this.#min)} Max: ${short(this.#max)} Avg: ${short(this.#mean)} Cur: ${short(this.#last)}${bad}`
  }
}

type Five = [number, number, number, number, number]

/** What JSON and people call a number; not what Number() also takes (`0x10`, an empty string, Infinity). */
const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i

/** Three digits after the point, or four that matter when there are none before it; without trailing zeros. */
export function short(value: number): string {
  if (value === 0 || Math.abs(value) >= 1) return String(Number(value.toFixed(3)))
  return String(Number(value.toPrecision(4)))
}

function printable(text: string): string {
  const shown = text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}...` : text
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not reach a terminal
  return shown.replace(/[\u0000-\u001f\u007f-\u009f]/g, '?')
}
