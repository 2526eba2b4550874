/**
 * How much a request matters: a class ("Site Reliability Engineering", chapter 21, Beyer et al., 2016), and within the
 * class a cohort. The lowest class is shed first, and within it whole cohorts, so that one user is either served or not
 * (DAGOR: Zhou et al., "Overload Control for Scaling WeChat Microservices", SoCC 2018). Pure.
 */

/** From the last to be shed to the first. */
export const CRITICALITIES = ['critical_plus', 'critical', 'sheddable_plus', 'sheddable'] as const

export type Criticality = (typeof CRITICALITIES)[number]

/** What a request that says nothing is: nearly everything is, and `sheddable` must be asked for. */
export const DEFAULT_CRITICALITY: Criticality = 'critical'

/** Cohorts of one class; DAGOR uses as many. More would be finer than what a window of requests can tell apart. */
export const COHORTS = 128
/** Class and cohort in one number, the level: a whole number below this. The lower, the more it matters. */
export const LEVELS: number = CRITICALITIES.length * COHORTS

/** What a criticality function may answer: a class, or a class with a key whose requests stand or fall together. */
export type CriticalityAnswer =
  | Criticality
  | {
      /** @default 'critical' */
      readonly criticality?: Criticality
      /** Whose request it is: a user, a tenant, a session. @default one cohort for everybody */
      readonly key?: string
    }

/** The class of a level: 0 is `critical_plus`. */
export function classOf(level: number): number {
  return Math.floor(level / COHORTS)
}

/**
 * The level of a class and key.
 *
 * @param epoch Changes which cohorts are unlucky: the hour, say, so that it is not always the same users (as DAGOR
 *   does). Within an epoch a key keeps its level.
 */
export function levelOf(criticality: Criticality = DEFAULT_CRITICALITY, key?: string, epoch = 0): number {
  const base = CRITICALITIES.indexOf(criticality) * COHORTS
  return key === undefined ? base : base + (hash(key, epoch) % COHORTS)
}

/**
 * The level for what a criticality function or a header answered; undefined when that makes no sense, so that the
 * caller can say so and go on with the default. Never throws for plain values.
 */
export function readCriticality(answer: unknown, epoch = 0): number | undefined {
  if (typeof answer === 'string') return isCriticality(answer) ? levelOf(answer) : undefined
  // A promise, of an async function, would pass for an answer that names nothing.
  if (typeof answer !== 'object' || answer === null || 'then' in answer) return undefined
  const { criticality = DEFAULT_CRITICALITY, key } = answer as { criticality?: unknown; key?: unknown }
  if (!isCriticality(criticality) || (key !== undefined && typeof key !== 'string')) return undefined
  return levelOf(criticality, key, epoch)
}

export function isCriticality(value: unknown): value is Criticality {
  return CRITICALITIES.includes(value as Criticality)
}

/** A key comes from outside and may be long; so much of it tells users apart. */
const HASHED_CHARACTERS = 256

/** FNV-1a over UTF-16 units, finished as MurmurHash3 does, because FNV's low bits alone are not even. */
function hash(key: string, epoch: number): number {
  let h = 0x811c9dc5 ^ epoch
  const length = Math.min(key.length, HASHED_CHARACTERS)
  for (let i = 0; i < length; i++) h = Math.imul(h ^ key.charCodeAt(i), 0x01000193)
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b)
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
  return (h ^ (h >>> 16)) >>> 0
}
