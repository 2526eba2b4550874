/**
 * The faults that bench/verdicts.ts injects, and the truth about each. Pure. The held-out sets have other durations,
 * clients and mixes; nothing was tuned on them.
 */
import type { Verdict } from '../../packages/meltproof/src/record.ts'

export type Random = () => number

export interface Operation {
  /** Query for bench/lib/verdict-service.ts. */
  readonly query: Readonly<Record<string, string | number>>
  /** Undefined for a healthy operation, which is not judged. */
  readonly truth?: Verdict
  /** Operations that begin before it and are not awaited. */
  readonly beside?: readonly Operation['query'][]
  /** Time after which the client disconnects, ms. */
  readonly leavesAfterMs?: number
}

export interface Case {
  readonly name: string
  /** Limit of a wait for a connection of PostgreSQL, ms. */
  readonly acquireMs?: number
  /** Its calls use names of a resolver that delays its answers: {@link slowName}. Needs Linux and root. */
  readonly resolver?: true
  readonly operations: (times: number, held: boolean, random: Random) => Operation[]
}

const between = (random: Random, low: number, high: number): number => Math.round(low + random() * (high - low))
const of = <T>(random: Random, list: readonly T[]): T => list[Math.floor(random() * list.length)]!
const times = <T>(count: number, make: (n: number) => T): T[] => Array.from({ length: count }, (_, n) => make(n))

const clients = ['fetch', 'undici', 'http']

/** The loop is stalled for several times the duration of the call. */
function stalled(random: Random, held: boolean, via: string, path: string): Operation {
  const took = held ? between(random, 2, 120) : between(random, 20, 60)
  const block = held ? between(random, 2.5 * took + 60, 2.5 * took + 900) : between(random, 250, 400)
  return { query: { via, path, took, block, at: between(random, 0, took * 0.8) }, truth: 'loop' }
}

function slow(random: Random, held: boolean, via: string, path: string): Operation {
  const took = held ? between(random, 150, 900) : between(random, 300, 500)
  // A short stall of our own loop must not change the verdict.
  const block = between(random, 15, took / 4)
  const stall = random() < 0.5 ? { block, at: between(random, 0, took) } : {}
  return { query: { via, path, took, ...stall }, truth: 'dependency' }
}

const healthy = (random: Random, held: boolean, via: string): Operation => ({
  query: { via, path: '/items', took: held ? between(random, 2, 120) : between(random, 20, 60) },
})

/** Calls to two routes of one peer, which usually take 5 ms and 500 ms. Each route has its own faults. */
function twoRoutes(count: number, held: boolean, random: Random): Operation[] {
  const quickMs = held ? 12 : 5
  const slowMs = held ? 280 : 500
  const via = (): string => (held ? of(random, clients) : 'fetch')
  const id = (): string => (held ? `/${between(random, 1, 1e6)}` : '')
  const quick = (more = {}): Operation['query'] => ({ via: via(), path: `/quick${id()}`, took: quickMs, ...more })
  const slowOne = (more = {}): Operation['query'] => ({ via: via(), path: `/slow${id()}`, took: slowMs, ...more })
  const usual = times(held ? 24 : 40, n => ({ query: n % 4 === 0 ? quick() : slowOne() }))
  const faults = times(count, n => {
    const block = between(random, held ? 1.5 * slowMs : 300, held ? 3 * slowMs : 900)
    const four: Operation[] = [
      { query: quick({ block, at: between(random, 0, quickMs - 2) }), truth: 'loop' },
      { query: slowOne({ block: 2 * block + slowMs, at: between(random, slowMs / 2, slowMs - 10) }), truth: 'loop' },
      { query: quick({ took: slowMs + block, block: 20, at: slowMs }), truth: 'dependency' },
      { query: slowOne({ took: slowMs + block, block: 50, at: slowMs + block - 20 }), truth: 'dependency' },
    ]
    return four[n % (held ? 4 : 3)]!
  })
  // Usual calls continue between the faults.
  return [...usual, ...faults.flatMap((fault, n) => (n % 5 === 0 ? [usual[n % usual.length]!, fault] : [fault]))]
}

/** All connections are in use for `took` ms. The call itself takes 1 ms. */
function waitsForPool(vias: readonly string[], leaves: number): Case['operations'] {
  return (count, held, random) => [
    ...times(4, n => ({ query: { via: vias[n % vias.length]!, took: 1 } })),
    ...times(count, n => {
      const via = vias[n % vias.length]!
      const took = held ? between(random, 80, 700) : 300
      const holders = times(held ? between(random, 2, 8) : 2, () => ({ via, took }))
      const wait = held && leaves === 0 ? { wait: took / 8 } : {}
      const leavesAfterMs = leaves * took
      return {
        query: { via, took: 1, ...wait },
        beside: holders,
        truth: 'dependency',
        ...(leaves > 0 ? { leavesAfterMs } : {}),
      } as const
    }),
  ]
}

let names = 0
/** A new name, which the resolver of bench/lib/slow-resolver.ts answers after `delayMs`. */
const slowName = (delayMs: number): string => `d${delayMs}-${names++}.slow.test`

export const CASES: readonly Case[] = [
  {
    name: 'loop stalls, after healthy calls',
    operations: (count, held, random) => {
      const via = (): string => of(random, clients)
      return [
        ...times(held ? 5 : 30, () => healthy(random, held, via())),
        ...times(count, () => stalled(random, held, via(), '/items')),
      ]
    },
  },
  {
    name: 'loop stalls, every call since the start',
    operations: (count, held, random) => times(count, () => stalled(random, held, of(random, clients), '/items')),
  },
  {
    name: 'slow dependency',
    operations: (count, held, random) => [
      ...times(held ? 5 : 30, () => healthy(random, held, of(random, clients))),
      ...times(count, () => slow(random, held, of(random, clients), '/items')),
    ],
  },
  {
    name: 'slow dependency, every call since the start',
    operations: (count, held, random) => times(count, () => slow(random, held, of(random, clients), '/items')),
  },
  {
    name: 'hung dependency, the client leaves',
    operations: (count, held, random) =>
      times(count, () => ({
        query: { via: of(random, clients), took: 3000 },
        truth: 'dependency',
        leavesAfterMs: held ? between(random, 100, 600) : 200,
      })),
  },
  { name: 'one peer, quick and slow routes', operations: twoRoutes },
  { name: 'pool exhausted: pg', acquireMs: 10_000, operations: waitsForPool(['pg'], 0) },
  { name: 'pool exhausted: pg gives up', acquireMs: 100, operations: waitsForPool(['pg'], 0) },
  { name: 'pool exhausted: undici Pool', operations: waitsForPool(['pool'], 0) },
  { name: 'pool exhausted: http Agent', operations: waitsForPool(['agent', 'agent-close'], 0) },
  {
    name: 'pool exhausted, the client leaves',
    acquireMs: 10_000,
    operations: waitsForPool(['pg', 'pool', 'agent', 'agent-close'], 0.6),
  },
  {
    name: 'slow network',
    operations: (count, held, random) =>
      times(count, () => ({
        query: { via: of(random, clients), port: 'way', took: held ? between(random, 1, 80) : 30, claims: 1 },
        truth: 'network',
      })),
  },
  {
    name: 'its own work',
    operations: (count, held, random) =>
      times(count, n => ({
        query: {
          via: of(random, clients),
          took: held ? between(random, 1, 60) : 30,
          [n % 2 === 0 ? 'compute' : 'wait']: held ? between(random, 150, 700) : 250,
        },
        truth: 'self',
      })),
  },
  {
    name: 'slow resolver',
    resolver: true,
    operations: (count, held, random) =>
      times(count, () => {
        const delay = held ? between(random, 120, 900) : 300
        const took = held ? between(random, 1, delay / 4) : 30
        return { query: { via: of(random, clients), name: slowName(delay), took }, truth: 'network' as const }
      }),
  },
  {
    name: 'slow resolver, many lookups at once',
    resolver: true,
    operations: (count, held, random) =>
      times(count, () => {
        const delay = held ? between(random, 120, 600) : 300
        const query = () => ({
          via: of(random, clients),
          name: slowName(delay),
          took: held ? between(random, 1, 30) : 10,
        })
        return { query: query(), beside: times(held ? between(random, 1, 7) : 3, query), truth: 'network' as const }
      }),
  },
]
