/** On a real server, a client that makes up paths does not take the share of other routes. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { servedBeside } from './flood.ts'

/** Encodes a number as a word of letters. */
const word = (n: number): string => n.toString(16).replace(/\d/g, digit => 'qrstuvwxyz'[Number(digit)]!)

const FLOODS: Readonly<Record<string, (n: number) => string>> = {
  'random slugs': n => `/${word(n * 7919)}`,
  'random letter case': n => [...'/somewhere'].map((c, i) => ((n >> i) & 1 ? c.toUpperCase() : c)).join(''),
  'deep random paths': n => `/${word(n)}/${word(n * 31)}/${word(n * 17)}`,
}

describe('over 80 % of an honest route is served during a flood of', () => {
  for (const [name, path] of Object.entries(FLOODS)) {
    it(name, async () => {
      const share = await servedBeside(
        n => ({ path: path(n) }),
        () => ({ path: '/orders' }),
        {},
      )
      assert.ok(share > 0.8, `${(100 * share).toFixed(0)} %`)
    })
  }

  it('random slugs, where a framework says which paths belong to one route', async () => {
    const share = await servedBeside(
      n => ({ path: `/${word(n * 7919)}` }),
      n => ({ path: `/users/${word(n * 7919)}/orders` }),
      {},
      { route: path => (path.endsWith('/orders') ? '/users/:name/orders' : undefined), calmMs: 700 },
    )
    assert.ok(share > 0.8, `${(100 * share).toFixed(0)} %`)
  })
})
