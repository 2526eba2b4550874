import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { MOST_POSITIONS, parseReport } from '../src/positions/report.ts'
import { Refusal } from '../src/refusal.ts'

const NOW = Date.UTC(2026, 6, 1)
const position = { seq: 1, at: NOW, lat: 54, lon: 8, accuracy: 5 }
const report = { name: 'Ada', sentAt: NOW, positions: [position] }

const refusal = (body: unknown): Refusal => {
  try {
    parseReport(body, NOW)
  } catch (error) {
    assert.ok(error instanceof Refusal)
    return error
  }
  throw new Error(`was accepted: ${JSON.stringify(body)}`)
}
const withPosition = (change: object) => ({ ...report, positions: [position, { ...position, seq: 2, ...change }] })

test('a report in the form that the page sends is parsed', () => {
  assert.deepEqual(parseReport(report, NOW), { name: 'Ada', positions: [position] })
})

for (const [what, change] of Object.entries({
  'latitude above 90': { lat: 90.001 },
  'longitude below -180': { lon: -180.001 },
  'NaN as JSON can carry it': { lat: null },
  'infinity, as JSON.parse reads 1e999': { lon: JSON.parse('1e999') },
  'a number as text': { lat: '54' },
  'negative accuracy': { accuracy: -1 },
  'no accuracy': { accuracy: undefined },
  'a seq of 0': { seq: 0 },
  'a seq that is not a whole number': { seq: 1.5 },
  'a seq beyond 2^53': { seq: 2 ** 53 },
  'a time after it was sent': { at: NOW + 60_000 },
  'a time more than a week ago': { at: NOW - 8 * 86_400_000 },
})) {
  test(`${what} is rejected, with its index`, () => {
    const { status, code, more } = refusal(withPosition(change))
    assert.deepEqual([status, code], [400, 'bad-positions'])
    assert.equal((more['invalid'] as { index: number }[])[0]?.index, 1)
  })
}

test('the limits of latitude and longitude are accepted', () => {
  for (const [lat, lon] of [
    [90, 180],
    [-90, -180],
    [0, 0],
  ]) {
    assert.ok(parseReport(withPosition({ lat, lon }), NOW))
  }
})

test('an accuracy is rounded to centimetres, and rejected beyond what the column can hold', () => {
  for (const [accuracy, stored] of [
    [5e-324, 0],
    [1e-46, 0],
    [0.004, 0],
    [4.567, 4.57],
    [20_040_000, 20_040_000],
  ]) {
    assert.equal(parseReport(withPosition({ accuracy }), NOW).positions[1]?.accuracy, stored)
  }
  for (const accuracy of [3.5e38, 1e308, 20_040_001]) assert.equal(refusal(withPosition({ accuracy })).status, 400)
})

test('bodies that are not reports are rejected', () => {
  for (const body of [
    null,
    [],
    'x',
    7,
    {},
    { ...report, positions: {} },
    { ...report, positions: [] },
    { ...report, sentAt: '1' },
  ]) {
    assert.equal(refusal(body).status, 400)
  }
  assert.equal(refusal({ ...report, positions: Array(MOST_POSITIONS + 1).fill(position) }).status, 400)
  assert.equal(refusal({ ...report, positions: [null] }).status, 400)
})

test('markup in a name is text, and an invalid name is rejected', () => {
  assert.equal(parseReport({ ...report, name: ' <b>&Ada</b> ' }, NOW).name, '<b>&Ada</b>')
  assert.equal(parseReport({ ...report, name: '' }, NOW).name, '')
  assert.equal(parseReport({ ...report, name: '🌊'.repeat(24) }, NOW).name, '🌊'.repeat(24))
  assert.equal(parseReport({ ...report, name: '👩‍🦰 می‌روم' }, NOW).name, '👩‍🦰 می‌روم')
  const hostile = ['a\nb', '\u202eadA', '\u3164', 'x'.repeat(25), 7, null]
  for (const name of hostile) assert.equal(refusal({ ...report, name }).code, 'bad-name')
})

test('a rejection names the invalid sequence number, and repeats nothing large', () => {
  const seqs = [1.5, 'x'.repeat(30_000), JSON.parse('['.repeat(15_000) + ']'.repeat(15_000)), { toJSON: 1 }, true]
  const { more } = refusal({ ...report, positions: [null, ...seqs.map(seq => ({ ...position, seq }))] })
  assert.deepEqual(
    (more['invalid'] as { seq: unknown }[]).map(({ seq }) => seq),
    [null, 1.5, null, null, null, null],
  )
  assert.ok(JSON.stringify(more).length < 1000)
})

test('a clock off by hours is corrected, one off by years is rejected with the server time', () => {
  const slow = NOW - 3_600_000
  const corrected = parseReport({ ...report, sentAt: slow, positions: [{ ...position, at: slow - 5000 }] }, NOW)
  assert.equal(corrected.positions[0]?.at, NOW - 5000)
  for (const years of [-6, 6]) {
    const { status, code, more } = refusal({ ...report, sentAt: NOW + years * 365 * 86_400_000 })
    assert.deepEqual([status, code, more], [400, 'clock-wrong', { serverTime: NOW }])
  }
})

test('property: any body is rejected, or every accepted position can be stored', () => {
  const anything = fc.oneof(fc.double(), fc.integer(), fc.constantFrom(null, undefined, '', '1', NOW, {}, []))
  const near = fc.record(
    { seq: anything, at: fc.oneof(anything, fc.constant(NOW)), lat: anything, lon: anything, accuracy: anything },
    { requiredKeys: [] },
  )
  const body = fc.oneof(
    fc.anything(),
    fc.record({
      name: fc.string({ unit: 'binary' }),
      sentAt: fc.constant(NOW),
      positions: fc.array(fc.oneof(near, fc.constant(position))),
    }),
  )
  fc.assert(
    fc.property(body, given => {
      try {
        const { name, positions } = parseReport(given, NOW)
        assert.ok(name.isWellFormed() && !name.includes('\0'))
        for (const { seq, at, lat, lon, accuracy } of positions) {
          assert.ok(
            Number.isSafeInteger(seq) && at <= NOW && Math.abs(lat) <= 90 && Math.abs(lon) <= 180 && accuracy >= 0,
          )
          assert.ok(accuracy === 0 || (Math.fround(accuracy) > 0 && Math.fround(accuracy) < Infinity))
        }
      } catch (error) {
        assert.ok(error instanceof Refusal && error.status === 400, String(error))
      }
    }),
    { numRuns: 2000 },
  )
})
