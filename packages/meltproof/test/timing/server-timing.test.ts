import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { claimedMs, MOST_HEADER, serverTimingHeader } from '../../src/timing/server-timing.ts'

const cases: readonly [header: string | undefined, expected: number | undefined][] = [
  [undefined, undefined],
  ['', undefined],
  ['total;dur=12.5', 12.5],
  ['total;dur=30.12345678901234', 30.12345678901234],
  ['db;dur=53, app;dur=47.2', 53],
  ['db;dur=53, total;dur=47.2', 47.2],
  ['TOTAL ; DUR = 7', 7],
  ['cache;desc="a, b; dur=9";dur=3', 3],
  ['a;desc="quo\\"te, total;dur=1";dur=2', 2],
  ['a;dur="4"', 4],
  ['miss', undefined],
  ['a;dur=', undefined],
  ['a;dur=-5', undefined],
  ['a;dur=NaN', undefined],
  ['a;dur=Infinity', undefined],
  ['a;dur=1e9', undefined],
  ['a;dur=0x10', undefined],
  ['a;dur=99999999999', undefined],
  ['a;dur=1;dur=50', 1],
  ['a;dur=x, b;dur=2', 2],
  [';;;,,,=,=;dur', undefined],
  ['a;desc="never closed, total;dur=5', undefined],
  ['x;dur=1,'.repeat(600), undefined],
]

for (const [header, expected] of cases) {
  test(`claimedMs() of ${header === undefined ? 'no header' : JSON.stringify(header.slice(0, 50))}`, () => {
    assert.equal(claimedMs(header), expected)
  })
}

test('entries beyond the 64th are not read', () => {
  assert.equal(claimedMs(`${'a;dur=1,'.repeat(64)}total;dur=9`), 1)
})

test('property: claimedMs() never throws, and returns a duration or undefined', () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.string({ maxLength: MOST_HEADER * 2 }), fc.stringMatching(/^[a-d;=",\\ .0-9]{0,300}$/)),
      header => {
        const claim = claimedMs(header)
        assert.ok(claim === undefined || (claim >= 0 && claim <= 86_400_000))
      },
    ),
    { numRuns: 3000 },
  )
})

test('claimedMs() reads what serverTimingHeader() writes', () => {
  const header = serverTimingHeader(12.34, 1, 3)
  assert.equal(header, 'total;dur=12.3, queue;dur=1.0, loop;dur=3.0')
  assert.equal(claimedMs(header), 12.3)
  assert.equal(claimedMs(serverTimingHeader(-1, 0, 0)), 0)
})
