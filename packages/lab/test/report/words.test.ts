import assert from 'node:assert/strict'
import { test } from 'node:test'
import { escapeText } from '../../src/report/escape.ts'
import * as format from '../../src/report/format.ts'
import { wrapWords } from '../../src/report/wrap-words.ts'
import { folderName } from '../../src/report/write.ts'

test('rates, times and shares are rounded to at most three digits, or to whole numbers', () => {
  assert.deepEqual([0, 0.04, 0.4, 19.5, 19.99, 195.4, 1949.6, 1234567].map(format.formatRate), [
    '0',
    '0',
    '0.4',
    '19.5',
    '20',
    '195',
    '1,950',
    '1,234,567',
  ])
  assert.deepEqual([null, 0.123, 8.44, 9.96, 104.4, 999.6, 1930, 22_040].map(format.formatMs), [
    '–',
    '0.12 ms',
    '8.4 ms',
    '10 ms',
    '104 ms',
    '1.00 s',
    '1.93 s',
    '22.0 s',
  ])
  assert.deepEqual([0, 0.0004, 0.003, 0.0975, 0.0996, 0.974, 1.02].map(format.formatPercent), [
    '0 %',
    '0 %',
    '0.3 %',
    '9.8 %',
    '10 %',
    '97 %',
    '102 %',
  ])
  assert.deepEqual([0.5, 1, 10].map(format.formatMultiple), ['0.5x', '1x', '10x'])
  assert.deepEqual([500, 1000, 2500].map(format.formatChosen), ['500 ms', '1 s', '2.5 s'])
  assert.equal(format.formatMegabytes(1_234_000_000), '1,234 MB')
})

test('escapeText() escapes HTML', () => {
  assert.equal(escapeText(`<a href="x">&'`), '&lt;a href=&quot;x&quot;&gt;&amp;&#39;')
})

test('folderName() starts with the time, so that runs sort by it', () => {
  assert.equal(folderName({ startedAt: '2026-11-21T12:00:00.000Z', name: 'burst' }), '2026-11-21T12-00-00-burst')
})

test('wrapWords() does not break between a number and its unit', () => {
  assert.deepEqual(wrapWords('under-pressure keeps 0 %, and its p99 is 30 ms', 22), [
    'under-pressure keeps',
    '0 %, and its p99 is',
    '30 ms',
  ])
  assert.deepEqual(wrapWords('in 3 steps of 5 s', 5), ['in 3', 'steps', 'of', '5 s'])
})
