/** Formats numbers for people, in the same way in the terminal, the report and the picture. Pure. */
import type { Unit } from './result.ts'

/** Such as 0.4, 19.5, 195 or 1,950. */
export function formatRate(rate: number): string {
  const digits = rate !== 0 && Math.abs(rate) < 99.95 && Math.abs(rate - Math.round(rate)) > 0.049 ? 1 : 0
  return grouped(rate.toFixed(digits))
}

/** A dash for null, as in every function here that accepts null. */
export function formatCount(count: number | null): string {
  return count === null ? '–' : grouped(count.toFixed(0))
}

export function formatCounts(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .map(([name, count]) => `${name}: ${formatCount(count)}`)
    .join(', ')
}

/** Such as 0.12 ms, 8.4 ms, 104 ms, 1.93 s or 22.0 s; a dash without a figure. */
export function formatMs(ms: number | null): string {
  if (ms === null || Number.isNaN(ms)) return '–'
  if (ms < 1) return `${ms.toFixed(2)} ms`
  if (ms < 9.95) return `${ms.toFixed(1)} ms`
  if (ms < 999.5) return `${ms.toFixed(0)} ms`
  return `${(ms / 1000).toFixed(ms < 9995 ? 2 : 1)} s`
}

/** A duration that a person chose, without rounding: 500 ms, 1 s, 2.5 s. */
export function formatChosen(ms: number): string {
  return ms < 1000 ? `${Number(ms.toFixed(3))} ms` : `${Number((ms / 1000).toFixed(3))} s`
}

/** Megabytes of 10^6 bytes. */
export function formatMegabytes(bytes: number | null): string {
  return bytes === null ? '–' : `${grouped((bytes / 1e6).toFixed(0))} MB`
}

/** With a fitting unit: 0.8 kB, 12 MB. */
export const formatBytes = (bytes: number): string =>
  bytes < 1e6 ? `${formatRate(bytes / 1000)} kB` : formatMegabytes(bytes)

/** Such as 97 %, 0.3 % or 0 %; a dash for NaN, as in a run without answers. */
export function formatPercent(share: number): string {
  if (!Number.isFinite(share)) return '–'
  const percent = share * 100
  return `${percent.toFixed(percent > 0.05 && percent < 9.95 ? 1 : 0)} %`
}

/** Such as 0.5x or 10x; a dash for NaN. */
export function formatMultiple(multiple: number): string {
  if (!Number.isFinite(multiple)) return '–'
  return `${Number(multiple.toFixed(2))}x`
}

export function formatList(names: readonly string[]): string {
  const [last, ...others] = names.toReversed()
  return others.length === 0 ? (last ?? '') : `${others.toReversed().join(', ')} and ${last}`
}

function grouped(digits: string): string {
  const [whole, fraction] = digits.split('.')
  const withCommas = whole!.replace(/\B(?=(\d{3})+$)/g, ',')
  return fraction === undefined ? withCommas : `${withCommas}.${fraction}`
}

const short = (value: number): string => (Math.abs(value) >= 1e6 ? `${formatRate(value / 1e6)} M` : formatRate(value))

/** A value on an axis, or beside a mark. */
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
