/** Formats values on an axis and beside a mark. Pure. */
import { formatMs, formatMultiple, formatPercent, formatRate } from './format.ts'
import type { Unit } from './result.ts'

const short = (value: number): string => (Math.abs(value) >= 1e6 ? `${formatRate(value / 1e6)} M` : formatRate(value))

export function formatUnit(value: number, unit: Unit): string {
  switch (unit) {
    case 'ms':
      return value === 0 ? '0' : tidy(formatMs(value))
    case 's':
      return `${Number(value.toPrecision(4))} s`
    case 'rate':
      return `${short(value)}/s`
    case 'count':
      return short(value)
    case 'MB':
      return `${formatRate(value)} MB`
    case 'percent':
      return formatPercent(value / 100)
    case 'multiple':
      return formatMultiple(value)
    case 'percentile':
      return `${Number((100 * (1 - 1 / value)).toPrecision(value >= 1e4 ? 6 : 4))} %`
  }
}

/** Ticks are round numbers: `1.00 s` becomes `1 s`. */
function tidy(text: string): string {
  return text.replace(/\.0+(?= )/, '').replace(/(\.\d*[1-9])0+(?= )/, '$1')
}
