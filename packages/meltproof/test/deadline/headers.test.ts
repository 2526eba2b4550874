import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  checkDeadlineHeaders,
  type DeadlineFormat,
  formatDeadline,
  parseDeadline,
  readDeadline,
} from '../../src/deadline/headers.ts'
import { isMeltproofError } from '../../src/errors.ts'

const ENVOY = 'x-envoy-expected-rq-timeout-ms'

test('readDeadline() reads the fields of Envoy and gRPC', () => {
  assert.equal(readDeadline({ [ENVOY]: '250' }), 250)
  assert.equal(readDeadline({ 'grpc-timeout': '250m' }), 250)
  assert.deepEqual(
    ['1H', '2M', '3S', '4m', '5u', '6n'].map(text => parseDeadline(text, 'grpc')),
    [3_600_000, 120_000, 3000, 4, 0.005, 0.000006],
  )
  assert.equal(readDeadline({}), undefined)
})

test('the smallest of several deadlines counts, also in a repeated field', () => {
  assert.equal(readDeadline({ [ENVOY]: '250', 'grpc-timeout': '100m' }), 100)
  assert.equal(readDeadline({ [ENVOY]: '250, 90,300' }), 90)
  assert.equal(readDeadline({ [ENVOY]: ['250', '80'] }), 80)
  assert.equal(readDeadline({ [ENVOY]: '250, nonsense' }), 250)
})

test('a field that is not exactly a duration is ignored', () => {
  const bad = [
    '',
    ' ',
    '0',
    '00',
    '-1',
    '+5',
    '1.5',
    '1e3',
    '0x10',
    '٣',
    'NaN',
    'Infinity',
    '5s',
    '5 5',
    '5;a=1',
    '5\u0000',
    '9'.repeat(14),
    '9'.repeat(100_000),
  ]
  for (const value of bad) assert.equal(readDeadline({ [ENVOY]: value }), undefined, JSON.stringify(value.slice(0, 20)))
  const badGrpc = ['', '5', 'm', '0m', '-1m', '5ms', '5 m', '123456789m', '1.5S', '5h', '0S']
  for (const value of badGrpc) assert.equal(readDeadline({ 'grpc-timeout': value }), undefined, value)
  assert.equal(readDeadline({ [ENVOY]: Array(1000).fill('x').concat('5').join(',') }), undefined)
})

test('formatDeadline() returns nothing without a limit or with no time left', () => {
  for (const format of ['milliseconds', 'grpc'] as const) {
    for (const left of [Number.POSITIVE_INFINITY, Number.NaN, 0, 0.9, -5])
      assert.equal(formatDeadline(left, format), undefined)
  }
  assert.equal(formatDeadline(249.9, 'milliseconds'), '249')
  assert.equal(formatDeadline(249.9, 'grpc'), '249m')
  assert.equal(formatDeadline(200_000_500, 'grpc'), '200000S')
})

test('property: a written deadline is read back never longer, and less than a second shorter', () => {
  const format = fc.constantFrom<DeadlineFormat>('milliseconds', 'grpc')
  fc.assert(
    fc.property(fc.double({ min: 1, max: 9e10, noNaN: true }), format, (leftMs, kind) => {
      const read = parseDeadline(formatDeadline(leftMs, kind)!, kind)!
      assert.ok(read <= leftMs && read > leftMs - (leftMs < 99_999_999 ? 1 : 1000), `${leftMs} became ${read}`)
    }),
  )
})

test('property: parseDeadline() never throws, and returns a positive number or undefined', () => {
  const format = fc.constantFrom<DeadlineFormat>('milliseconds', 'grpc')
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), format, (text, kind) => {
      const ms = parseDeadline(text, kind)
      assert.ok(ms === undefined || (ms > 0 && Number.isFinite(ms)))
    }),
  )
})

test('checkDeadlineHeaders() rejects invalid names and formats', () => {
  assert.deepEqual(checkDeadlineHeaders('headers', [{ name: 'X-Left', format: 'milliseconds' }]), [
    { name: 'x-left', format: 'milliseconds' },
  ])
  for (const bad of [
    'x',
    [{ name: 'a b', format: 'grpc' }],
    [{ name: 'Host', format: 'grpc' }],
    [{ name: 'x', format: 's' }],
    [null],
  ]) {
    assert.throws(() => checkDeadlineHeaders('headers', bad), isMeltproofError)
  }
})
