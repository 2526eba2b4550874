import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { retryAfterMs } from '../../src/outbound/retry-after.ts'

const SENT_MS = Date.UTC(2026, 10, 24, 8, 49, 37)
const never = (): number => assert.fail('our own clock is not asked')

for (const [value, expected] of [
  ['0', 0],
  ['120', 120_000],
  [' 7 ', 7_000],
  ['99999999999999999999', 1e23],
  ['9'.repeat(400), Number.POSITIVE_INFINITY],
  ['Tue, 24 Nov 2026 08:49:40 GMT', 3_000],
  ['Tuesday, 24-Nov-26 08:49:40 GMT', 3_000],
  ['Tue Nov 24 08:49:40 2026', 3_000],
  ['Tue, 24 Nov 2026 08:49:00 GMT', 0],
  ['Fri, 31 Dec 9999 23:59:59 GMT', Date.UTC(9999, 11, 31, 23, 59, 59) - SENT_MS],
] as const) {
  test(`retryAfterMs() reads '${value.slice(0, 40)}'`, () => {
    assert.equal(retryAfterMs(value, new Date(SENT_MS).toUTCString(), never), expected)
  })
}

for (const value of [
  ...['', ' ', 'soon', '-1', '+1', '1.5', '1e3', '0x10', 'NaN', 'Infinity', '1, 2', '1h', '٣', '2026-11-24T08:49:40Z'],
  ...['Tue, 24 Foo 2026 08:49:40 GMT', 'Tue, 99 Nov 2026 08:49:40 GMT', 'Nov 24 2026', '1764.5 GMT'],
]) {
  test(`retryAfterMs() ignores '${value}'`, () => {
    assert.equal(
      retryAfterMs(value, undefined, () => SENT_MS),
      undefined,
    )
  })
}

test('without a readable Date field, a date in Retry-After is compared with the local clock', () => {
  for (const date of [undefined, '', 'now', '12']) {
    assert.equal(
      retryAfterMs('Tue, 24 Nov 2026 08:49:40 GMT', date, () => SENT_MS),
      3_000,
    )
  }
  assert.equal(retryAfterMs(undefined, undefined, never), undefined)
})

test('a wait until a date is not rounded to whole seconds', () => {
  for (const lateMs of [1, 499, 500, 999]) {
    assert.equal(
      retryAfterMs('Tue, 24 Nov 2026 08:49:40 GMT', undefined, () => SENT_MS + lateMs),
      3_000 - lateMs,
    )
  }
})

test('retryAfterMs() never throws, and never returns a negative wait', () => {
  fc.assert(
    fc.property(fc.string(), fc.option(fc.string(), { nil: undefined }), (value, date) => {
      const ms = retryAfterMs(value, date, () => SENT_MS)
      assert.ok(ms === undefined || ms >= 0)
    }),
  )
})
