import assert from 'node:assert/strict'
import { test } from 'node:test'
import { escapeText, scriptJson } from '../../src/report/escape.ts'
import { finding } from '../../src/report/finding.ts'
import * as format from '../../src/report/format.ts'
import { tableOf, terminalSummary } from '../../src/report/table.ts'
import { folderName } from '../../src/report/write.ts'
import { madeResult } from './fixture.ts'

test('numbers', () => {
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

test('the table', () => {
  const golden = `
            load  offered  goodput        of  admitted  admitted   shed    shed  errors    rss
                       /s       /s  capacity       p50       p99     /s     p99           peak
──────────────────────────────────────────────────────────────────────────────────────────────
bare        0.5x       98       98      50 %    4.0 ms    4.0 ms      0       –       0  79 MB
              1x      195      195     100 %    8.0 ms    8.0 ms      0       –       0  79 MB
              2x      390        0       0 %    2.40 s    2.40 s      0       –     975  79 MB
              6x    1,170        0       0 %    2.40 s    2.40 s      0       –   5,750  79 MB
             10x    1,950        0       0 %    2.40 s    2.40 s      0       –   9,650  79 MB

protected   0.5x       98       98      50 %    4.0 ms    4.0 ms      0       –       0  79 MB
              1x      195      195     100 %    8.0 ms    8.0 ms      0       –       0  79 MB
              2x      390      191      98 %     60 ms     60 ms    199  3.0 ms       0  79 MB
              6x    1,170      191      98 %     60 ms     60 ms    979  3.0 ms       0  79 MB
             10x    1,950      191      98 %     60 ms     60 ms  1,759  3.0 ms       0  79 MB

toobusy-js  0.5x       98       98      50 %    4.0 ms    4.0 ms      0       –       0  79 MB
              1x      195      195     100 %    8.0 ms    8.0 ms      0       –       0  79 MB
              2x      390       30      15 %    900 ms    900 ms    234  1.10 s     430  79 MB
              6x    1,170       10     5.1 %    900 ms    900 ms    702  1.10 s   2,090  79 MB
             10x    1,950        6     3.1 %    900 ms    900 ms  1,170  1.10 s   3,670  79 MB`
  assert.equal(`\n${tableOf(madeResult().rows)}`, golden)
})

test('the finding, in words', () => {
  const result = madeResult()
  assert.equal(
    finding(result),
    'At 10x its capacity, the bare app melts to 0 good answers a second; protected, it keeps 191, 98 % of what it can do.',
  )
  const held = result.rows.map(row => (row.arm === 'bare' ? { ...row, goodput: 180, ofCapacity: 180 / 195 } : row))
  assert.equal(
    finding({ ...result, rows: held }),
    'At 10x its capacity, the bare app keeps 180 good answers a second (92 % of what it can do) and the protected one 191 good answers a second (98 % of what it can do).',
  )
  assert.equal(finding({ ...result, rows: [] }), 'Nothing was measured before the run ended.')
  const onlyBare = result.rows.filter(row => row.arm === 'bare' && row.multiple < 2)
  assert.match(finding({ ...result, rows: onlyBare }), /^At 1x its capacity, bare keeps 195/)
})

test('the terminal says what does not hold', () => {
  const text = terminalSummary(madeResult({ certified: false, incomplete: true, why: Array(9).fill('x'.repeat(300)) }))
  assert.match(text, /INCOMPLETE/)
  assert.match(text, /and 3 more, in the report/)
  assert.ok(text.split('\n').every(line => line.length < 200 || line.startsWith('Goodput:')))
  assert.doesNotMatch(terminalSummary(madeResult()), /Not certified|INCOMPLETE/)
})

test('text in markup, and data in a script', () => {
  assert.equal(escapeText(`<a href="x">&'`), '&lt;a href=&quot;x&quot;&gt;&amp;&#39;')
  const hostile = { name: '</script><script>alert(1)</script>' }
  assert.ok(!scriptJson(hostile).includes('<'))
  assert.deepEqual(JSON.parse(scriptJson(hostile)), hostile)
})

test('a folder per run, sorted by time', () => {
  assert.equal(folderName({ startedAt: '2026-11-21T12:00:00.000Z', name: 'burst' }), '2026-11-21T12-00-00-burst')
})
