/**
 * The importance of a request: a class ("Site Reliability Engineering", chapter 21, Beyer et al., 2016) and a cohort
 * within it. The least important class is shed first, and within it whole cohorts, so that a user is either served or
 * not (DAGOR: Zhou et al., "Overload Control for Scaling WeChat Microservices", SoCC 2018). Pure.
 */

export const CRITICALITIES = ['critical_plus', 'critical', 'sheddable_plus', 'sheddable'] as const

export type Criticality = (typeof CRITICALITIES)[number]

/** The class of a request that states none. Nearly all state none, so `sheddable` must be requested explicitly. */
const DEFAULT_CRITICALITY: Criticality = 'critical'

/** Number of cohorts in a class, as in DAGOR. One window has too few requests to distinguish more. */
export const COHORTS = 128
/** Class and cohort form one number, the level, which is below LEVELS. Lower levels matter more. */
export const LEVELS: number = CRITICALITIES.length * COHORTS

/** Requests with the same key are shed or served together. */
export type CriticalityAnswer =
  | Criticality
  | {
      /** @default 'critical' */
      readonly criticality?: Criticality
      /** A user, a tenant or a session. @default one cohort for all requests */
      readonly key?: string
    }

export function classOf(level: number): number {
  return Math.floor(level / COHORTS)
}

/** @param epoch changes which cohorts are shed first, by the hour for example (as DAGOR does) */
export function levelOf(criticality: Criticality = DEFAULT_CRITICALITY, key?: string, epoch = 0): number {
  const base = CRITICALITIES.indexOf(criticality) * COHORTS
  return key === undefined ? base : base + (hash(key, epoch) % COHORTS)
}

/** Returns undefined for an invalid answer, so that the caller can warn. Never throws for plain values. */
export function readCriticality(answer: unknown, epoch = 0): number | undefined {
  if (typeof answer === 'string') return isCriticality(answer) ? levelOf(answer) : undefined
  // An async function returns a promise, which would look like an answer without a class.
  if (typeof answer !== 'object' || answer === null || 'then' in answer) return undefined
  const { criticality = DEFAULT_CRITICALITY, key } = answer as { criticality?: unknown; key?: unknown }
  if (!isCriticality(criticality) || (key !== undefined && typeof key !== 'string')) return undefined
  return levelOf(criticality, key, epoch)
}

export function isCriticality(value: unknown): value is Criticality {
  return CRITICALITIES.includes(value as Criticality)
}

const HASHED_CHARACTERS = 256

/** FNV-1a over UTF-16 code units with the finalizer of MurmurHash3, because FNV's low bits alone are uneven. */
function hash(key: string, epoch: number): number {
  let h = 0x811c9dc5 ^ epoch
  const length = Math.min(key.length, HASHED_CHARACTERS)
  for (let i = 0; i < length; i++) h = Math.imul(h ^ key.charCodeAt(i), 0x01000193)
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b)
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
  return (h ^ (h >>> 16)) >>> 0
}
