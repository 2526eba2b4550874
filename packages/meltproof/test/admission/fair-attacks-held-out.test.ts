/**
 * Attacks by path that nothing was tuned on. They were written before the first result was seen, and stay unchanged.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Attack, pathOf, served, word } from './attack.ts'

/** `fair`: the fair share of each honest route, as a share of its requests. @default 1 */
export const CASES: Readonly<Record<string, Attack & { readonly fair?: number }>> = {
  'random words in percent encoding': {
    honest: [{ rate: 60, path: pathOf('/api/v1/orders') }],
    attackers: [
      {
        rate: 400,
        path: random => `/${[...word(random, 6)].map(c => `%${c.charCodeAt(0).toString(16)}`).join('')}`,
      },
    ],
  },
  'a random first segment before a path that exists': {
    honest: [{ rate: 70, path: pathOf('/list') }],
    attackers: [{ rate: 500, path: random => `/${word(random, 8)}/list` }],
  },
  'slugs in pulses of two seconds': {
    honest: [{ rate: 80, path: pathOf('/orders') }],
    attackers: [{ rate: now => (now % 4000 < 2000 ? 600 : 0.01), path: random => `/${word(random)}` }],
  },
  'an honest route of which the first request comes amid the flood': {
    honest: [{ rate: now => (now < 8000 ? 0.001 : 70), path: pathOf('/orders') }],
    attackers: [{ rate: 400, path: random => `/${word(random)}` }],
    seconds: 24,
  },
  'a cheap route beside random heavy ones': {
    honest: [{ rate: 200, ms: 0.2, path: pathOf('/cheap') }],
    attackers: [{ rate: 400, ms: 20, path: random => `/${word(random)}` }],
    // The limit may settle at six where three suffices. A cheap request needs five turns of the loop, and waits for the
    // five others in each.
    fair: 0.9,
  },
  'few honest requests among very many': {
    honest: [{ rate: 15, path: pathOf('/orders') }],
    attackers: [{ rate: 3000, path: random => `/${word(random, 5)}` }],
  },
  'twelve honest routes and random slugs': {
    honest: Array.from({ length: 12 }, (_, i) => ({ rate: 6, path: pathOf(`/shop/${'abcdefghijkl'[i]}`) })),
    attackers: [{ rate: 300, path: random => `/${word(random)}` }],
  },
  'two floods at once, one of slugs and one of a single path': {
    honest: [{ rate: 55, path: pathOf('/orders') }],
    attackers: [
      { rate: 200, path: random => `/${word(random)}` },
      { rate: 200, path: pathOf('/search') },
    ],
  },
  'thirty paths that behave for half a minute, then flood': {
    honest: [{ rate: 80, path: pathOf('/orders') }],
    attackers: [
      {
        rate: now => (now < 30_000 ? 15 : 300),
        path: random => `/${'abcdefghijklmnopqrstuvwxyzABCD'[Math.floor(random.next() * 30)]}page`,
      },
    ],
    // The first two seconds of the flood may be a burst, which is served in order.
    seconds: 66,
  },
  'answers of 404 to forty steady paths': {
    honest: [{ rate: 80, path: pathOf('/orders') }],
    attackers: [
      {
        rate: 400,
        path: random => `/${'abcdefghijklmnopqrst'[Math.floor(random.next() * 20)]}${random.next() < 0.5 ? 'x' : 'y'}`,
        notFound: true,
      },
    ],
  },
  'an honest route that asks for more than its share': {
    honest: [{ rate: 130, path: pathOf('/orders') }],
    attackers: [{ rate: 1000, path: random => `/${word(random)}` }],
    fair: 95 / 130,
  },
}

describe('held out: honest routes keep 90 % of their fair share next to', () => {
  for (const [name, attack] of Object.entries(CASES)) {
    it(name, () => {
      const shares = [11, 12, 13, 14, 15, 16, 17, 18].map(seed => served(attack, seed))
      for (const i of attack.honest.keys()) {
        const mean = shares.reduce((sum, share) => sum + share[i]!, 0) / shares.length
        const fair = attack.fair ?? 1
        assert.ok(mean >= 0.9 * fair, `route ${i} is served ${(100 * mean).toFixed(1)} %`)
        const worst = Math.min(...shares.map(share => share[i]!))
        assert.ok(worst >= 0.85 * fair, `route ${i} is served ${(100 * worst).toFixed(1)} % in the worst run`)
      }
    })
  }
})
