/**
 * The fuzz run finds the faults of broken servers. It does so on every Node, so CI runs this file on one version.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fuzz, SMALL } from './run-fuzz.ts'

for (const [sabotage, found] of [
  ['swap', /FAILED: conversation \d+ \(.*\): answer \d+ of \d+: it is the answer to request \d+/],
  ['throw', /FAILED: unhandled: Error: sabotage/],
  ['leak', /FAILED: the heap grew by/],
  ['repeat', /FAILED: scrape: a series twice: \w+\{/],
] as const) {
  test(`the fuzz run finds a server with the fault "${sabotage}", and prints how to repeat it`, async () => {
    const { code, errors } = await fuzz(sabotage, ...SMALL)
    assert.equal(code, 1)
    assert.match(errors, found)
    assert.match(errors, /again: .*--seed 1/)
  })
}
