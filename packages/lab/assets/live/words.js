/** Figures and states as people read them. */

/**
 * @typedef {'good' | 'late' | 'refused' | 'lost'} Fate
 * @typedef {'waits' | 'keeps-up' | 'full' | 'strains' | 'melts' | 'recovers' | 'ended'} State
 * @typedef {Record<Fate, number> & { due: number, p99Ms: number | null, ownMs: number | null, state: State, dots: [Fate, number][] }} Side
 * @typedef {[atS: number, load: number, good: number[]]} Point
 * @typedef {[load: number, good: (number | null)[]]} CurvePoint
 * @typedef {{ atS: number, load: number, unjudged?: string, sides: Side[], points?: Point[], curve?: CurvePoint[] }} Told
 * @typedef {{ command: string, request: string, sloMs: number, timeoutMs: number, machine: string, capacity: number, stops: number[] }} About
 */

/** @type {Record<State | 'unjudged', string>} */
export const STATES = {
  waits: 'waiting',
  'keeps-up': 'keeps up',
  full: 'full, and holds',
  strains: 'sagging',
  melts: 'melting',
  recovers: 'works off its backlog',
  ended: 'its process has ended',
  unjudged: 'no verdict',
}

const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })
const tenths = new Intl.NumberFormat('en', { maximumFractionDigits: 1 })

/** @param {number} value */
export const rate = value => (value < 9.95 ? tenths : whole).format(value)

/** @param {number} load */
export const times = load => `${load}x`

/** @param {number | null} value */
export const ms = value =>
  value === null
    ? 'none'
    : value < 9.95
      ? `${value.toFixed(1)} ms`
      : value < 999.5
        ? `${value.toFixed(0)} ms`
        : `${(value / 1000).toFixed(value < 9995 ? 2 : 1)} s`

/** A duration that the user chose. @param {number} value */
export const chosen = value => (value < 1000 ? `${value} ms` : `${value / 1000} s`)
