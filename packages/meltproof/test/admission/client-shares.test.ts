/** One client gets no more than a fair share, whatever it requests. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ClientShares } from '../../src/admission/fairness/client-shares.ts'
import { hashOf } from '../../src/admission/fairness/path-hash.ts'
import { Random } from '../../sim/random.ts'
import { type Asker, pathOf, served } from './attack.ts'

const path = pathOf('/')
const hash = (client: number): number => hashOf(`10.0.0.${client}`, 1)
/** Two hundred clients that together need half of the core. */
const honest: Asker[] = [{ rate: 95, path, client: random => hash(1000 + Math.floor(random.next() * 200)) }]

const CASES: Readonly<Record<string, { honest: readonly Asker[]; attackers: readonly Asker[] }>> = {
  'one client at three times the capacity': {
    honest,
    attackers: [{ rate: 600, path, client: () => hash(1) }],
  },
  'one client at twenty times the capacity': {
    honest,
    attackers: [{ rate: 4000, path, client: () => hash(1) }],
  },
  'five clients at the capacity each': {
    honest,
    attackers: [{ rate: 950, path, client: random => hash(Math.floor(random.next() * 5)) }],
  },
  'one client that makes up paths': {
    honest,
    attackers: [{ rate: 600, path: random => `/${random.next().toString(36)}/x`, client: () => hash(1) }],
  },
}

describe('two hundred clients are served 90 % of their requests next to', () => {
  for (const [name, attack] of Object.entries(CASES)) {
    it(name, () => {
      for (const seed of [1, 2, 3]) {
        const [share] = served(attack, seed)
        assert.ok(share! >= 0.9, `seed ${seed}: ${(100 * share!).toFixed(0)} %`)
      }
    })
  }
})

describe('clients that share hash buckets', () => {
  it('do not lose their share to a heavy client for long', () => {
    const random = new Random(7)
    const shares = new ClientShares(() => random.next())
    shares.reset(0)
    const light = Array.from({ length: 300 }, (_, i) => hash(i + 1))
    const heavy = [400, 401, 402].map(hash)
    const kept = new Map(light.map(client => [client, 0]))
    shares.served(heavy[0]!, 10)
    for (let atMs = 0; atMs < 60_000; atMs += 5) {
      for (let i = 0; i < 5; i++) for (const client of heavy) shares.arrived(client, atMs, 10)
      const client = light[(atMs / 5) % light.length]!
      shares.arrived(client, atMs, 10)
      if (shares.within(client, atMs)) {
        shares.comesFirst(client)
        kept.set(client, kept.get(client)! + 1)
      }
    }
    const least = Math.min(...kept.values()) / (60_000 / 5 / light.length)
    const mean = [...kept.values()].reduce((sum, each) => sum + each, 0) / (60_000 / 5)
    assert.ok(mean > 0.95, `${mean} on average`)
    assert.ok(least > 0.7, `${least} of the worst`)
  })
})
