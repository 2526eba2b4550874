/** Benchmarks of several runs, and the tables that they write into pages. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { madeBy, tableIn, withTable } from '../../bench/lib/page-table.ts'
import { together, whyOther } from '../../bench/lib/parts.ts'

const where = { date: '2026-11-28', node: 'v24', cpu: 'AMD', cores: 2, loadBefore: 0.4, kernel: '6', commit: 'abc' }
const same = (): boolean => true

test('runs belong together while the code, the machine and the settings are the same', () => {
  const earlier = { ...where, date: '2026-11-27', loadBefore: 0.9, seconds: 10 }
  assert.equal(whyOther(earlier, where, { seconds: 10 }, same), undefined)
  assert.equal(whyOther(earlier, where, { seconds: 20 }, same), 'seconds')
  assert.equal(whyOther({ ...earlier, cpu: 'Intel' }, where, {}, same), 'cpu')
  assert.equal(whyOther({ ...earlier, node: 'v22' }, where, {}, same), 'node')
  assert.deepEqual(together(earlier, where), { ...where, loadBefore: 0.9 })
})

test('another commit is the same code if only documents and results have changed', () => {
  const earlier = { ...where, commit: 'abd' }
  assert.equal(whyOther(earlier, where, {}, same), undefined)
  assert.equal(
    whyOther(earlier, where, {}, () => false),
    'commit',
  )
})

test('changes without a commit belong only to themselves, and older results without a commit to nothing', () => {
  const changed = { ...where, commit: 'abc+' }
  assert.equal(whyOther(changed, changed, {}, same), undefined)
  assert.equal(whyOther(changed, where, {}, same), 'commit')
  assert.equal(whyOther(where, changed, {}, same), 'commit')
  const { commit: _, ...older } = where
  assert.equal(whyOther(older, where, {}, same), 'commit')
})

test('withTable() replaces only the table of the same script', () => {
  const table = (value: string): string => `| ${madeBy('one')} | value |\n| --- | --- |\n| a | ${value} |`
  const page = (value: string): string => `# Page\n\n${table(value)}\n\n| ${madeBy('one-more')} |\n| --- |\n| b |\n`
  assert.equal(withTable(page('1'), 'one', table('2')), page('2'))
  assert.equal(tableIn(page('1'), 'one'), table('1'))
  assert.equal(withTable(`text\n${table('1')}`, 'one', table('2')), `text\n${table('2')}`)
  assert.throws(() => tableIn(page('1'), 'two'), /has 0 tables/)
  assert.throws(() => tableIn(page('1') + page('1'), 'one'), /has 2 tables/)
})
