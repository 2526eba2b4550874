/** Made-up paths of an attacker do not take the share of honest routes. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Attack, pathOf, served, word } from './attack.ts'

const honest = [{ rate: 80, path: pathOf('/orders') }]

/**
 * The first two seconds of a flood may be a burst, which is served in order. Runs in which the flood starts later are
 * longer.
 */
const LONGER = 30
/** A core serves 198/s of these requests. A route with 80/s needs less than half of it. */
export const CASES: Readonly<Record<string, Attack>> = {
  'random slugs': { honest, attackers: [{ rate: 300, path: random => `/${word(random)}` }] },
  'random slugs at ten times the capacity': {
    honest,
    attackers: [{ rate: 1900, path: random => `/${word(random)}` }],
  },
  'one path in random letter case': {
    honest,
    attackers: [
      {
        rate: 300,
        path: random => [...'/somewhereelse'].map(c => (random.next() < 0.5 ? c : c.toUpperCase())).join(''),
      },
    ],
  },
  'random ids of letters': { honest, attackers: [{ rate: 300, path: random => `/users/${word(random)}` }] },
  'deep random paths': {
    honest,
    attackers: [{ rate: 300, path: random => `/${word(random, 4)}/${word(random, 4)}/${word(random, 4)}` }],
  },
  'many paths, each asked twice': {
    honest,
    attackers: [
      { rate: 300, path: (random, now) => `/${'abcdefghij'[Math.floor(random.next() * 10)]}${spelled(now / 66)}` },
    ],
  },
  'many paths, each asked eight times': {
    honest,
    attackers: [
      { rate: 300, path: (random, now) => `/${'abcdefghij'[Math.floor(random.next() * 10)]}${spelled(now / 266)}` },
    ],
  },
  'a flood that moves to another path twice a second': {
    honest,
    attackers: [{ rate: 300, path: (_, now) => `/${spelled(now / 500)}` }],
  },
  'a flood that moves to another path every two seconds': {
    honest,
    attackers: [{ rate: 300, path: (_, now) => `/${spelled(now / 2000)}` }],
  },
  'one path that behaves first': {
    honest,
    attackers: [{ rate: now => (now < 10_000 ? 5 : 300), path: pathOf('/other') }],
    seconds: LONGER,
  },
  'ten paths that behave first': {
    honest,
    attackers: [
      { rate: now => (now < 10_000 ? 10 : 300), path: random => `/${'abcdefghij'[Math.floor(random.next() * 10)]}` },
    ],
    seconds: LONGER,
  },
  'random slugs and the honest route': {
    honest,
    attackers: [
      { rate: 250, path: random => `/${word(random)}` },
      { rate: 10, path: pathOf('/orders') },
    ],
  },
  'random slugs beside several routes, one of them seldom asked': {
    honest: [
      { rate: 40, path: pathOf('/orders') },
      { rate: 20, path: pathOf('/carts') },
      { rate: 5, path: pathOf('/account/settings') },
    ],
    attackers: [{ rate: 500, path: random => `/${word(random)}` }],
  },
  'random slugs beside honest ids of letters': {
    honest: [{ rate: 80, path: random => `/users/${word(random)}` }],
    attackers: [{ rate: 300, path: random => `/${word(random)}` }],
  },
}

function spelled(number: number): string {
  return Math.floor(number)
    .toString(26)
    .replace(/\d/g, digit => 'qrstuvwxyz'[Number(digit)]!)
}

describe('honest routes keep 90 % of their fair share next to', () => {
  for (const [name, attack] of Object.entries(CASES)) {
    it(name, () => {
      for (const seed of [1, 2, 3]) {
        for (const [i, share] of served(attack, seed).entries()) {
          assert.ok(share >= 0.9, `seed ${seed}: route ${i} is served ${(100 * share).toFixed(0)} %`)
        }
      }
    })
  }
})
