/**
 * Honest routes on a core of 5 ms per request, and an attacker that sends far more. Measures the service of the honest
 * routes.
 */
import { ConcurrencyLimiter } from '../../src/admission/limiter/concurrency-limiter.ts'
import type { Random } from '../../sim/random.ts'
import { simulate } from '../../sim/service.ts'
import type { Step, Workload } from '../../sim/workload.ts'

export interface Asker {
  /** Requests per second. */
  readonly rate: number | ((nowMs: number) => number)
  readonly path: (random: Random, nowMs: number) => string
  /** CPU of one request, ms. @default 5 */
  readonly ms?: number
  readonly notFound?: boolean
  readonly client?: (random: Random) => number
}

export interface Attack {
  readonly honest: readonly Asker[]
  readonly attackers: readonly Asker[]
  /** Length of the run, s. Only its second half is counted. @default 20 */
  readonly seconds?: number
}

/** Returns the good share of each honest route's requests. */
export function served({ honest, attackers, seconds = 20 }: Attack, seed: number): number[] {
  const all = [...honest, ...attackers]
  const rateOf = ({ rate }: Asker, nowMs: number): number => (typeof rate === 'number' ? rate : rate(nowMs))
  const total = (nowMs: number): number => all.reduce((sum, each) => sum + rateOf(each, nowMs), 0)
  const workload: Workload = {
    rate: total,
    steps: () => [],
    kinds: all.map(each => ({
      share: (nowMs: number) => rateOf(each, nowMs) / total(nowMs),
      steps: () => burns(each.ms ?? 5),
      path: each.path,
      notFound: each.notFound ?? false,
      ...(each.client === undefined ? {} : { client: each.client }),
    })),
  }
  const { kinds } = simulate(workload, { seconds, seed, limiter: busyMs => new ConcurrencyLimiter(busyMs) })
  return honest.map((_, kind) => kinds[kind]!.good / kinds[kind]!.offered)
}

/** Five slices, like an app with five asynchronous calls. */
function burns(ms: number): Step[] {
  return Array.from({ length: 5 }, () => [{ cpu: ms / 5 }, 'yield'] as const).flat()
}

const LETTERS = 'abcdefghijklmnopqrstuvwxyz'

/** A random word, which was most likely not requested before. */
export function word(random: Random, length = 10): string {
  let text = ''
  for (let i = 0; i < length; i++) text += LETTERS[Math.floor(random.next() * LETTERS.length)]
  return text
}

export function pathOf(path: string): (random: Random) => string {
  return () => path
}
