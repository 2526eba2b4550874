import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AppResult, Recorded } from '../runner/results.ts'
import { appsPage } from '../runner/table.ts'

const machine = { node: 'v24.0.0', platform: 'Linux 6.1 x64', cpu: 'Test CPU', cores: 2, memoryBytes: 2 ** 33 }
const recorded = (more: Partial<Recorded>): Recorded => ({
  ok: true,
  summary: '3 of 3',
  failures: [],
  date: '2026-11-22',
  runtime: 'abc1234',
  machine,
  ...more,
})
const result = (title: string, checks: AppResult['checks']): AppResult => ({
  name: title.toLowerCase(),
  title,
  version: `${title.toLowerCase()} 1.2.3`,
  checks,
})

test('a row shows what passed, what failed and what was not run', () => {
  const failed = recorded({ ok: false, summary: '1 of 3 cut', failures: ['ndjson: cut *after* 10 s'] })
  const page = appsPage(
    [result('Stranger', { 'same-answers': recorded({}), streams: failed })],
    ['same-answers', 'streams', 'sigterm'],
  )
  assert.match(page, /\| Stranger \(`stranger 1\.2\.3`\) \| 3 of 3 \| \*\*no\*\*: 1 of 3 cut \| not run \|/)
  assert.match(page, /## What failed\n\n- \*\*Stranger\*\*, streams live: ndjson: cut \\\*after\\\* 10 s\n/)
  assert.match(page, /0 of 1 pass every check/)
})

test('the page lists each machine once, with its dates', () => {
  const checks = { 'same-answers': recorded({}), streams: recorded({ date: '2026-11-20' }) }
  const page = appsPage([result('One', checks), result('Two', checks)], ['same-answers', 'streams'])
  assert.match(page, /2 of 2 pass every check/)
  assert.match(
    page,
    /- 2026-11-20 to 2026-11-22: meltproof at abc1234, Node v24\.0\.0, 2 cores of Test CPU, 8 GiB, Linux 6\.1 x64: One \(same answers, streams live\); Two \(same answers, streams live\)\.\n$/,
  )
  assert.doesNotMatch(page, /What failed|## Notes/)
})
