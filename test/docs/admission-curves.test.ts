/** docs/admission-curves.md matches the committed result and the current rules. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { type AdmissionResult, admissionCurves } from '../../bench/lib/admission-curves.ts'
import { RULES } from '../../bench/lib/admission-edits.ts'
import { ROOT } from './pages.ts'

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')

test('docs/admission-curves.md matches its result, and names every rule', () => {
  const page = read('docs/admission-curves.md')
  const result = JSON.parse(read('bench/results/admission.json')) as AdmissionResult
  assert.equal(page, admissionCurves(result), 'node bench/admission.ts --write writes it')
  for (const { what } of RULES) assert.ok(page.includes(what), what)
})
