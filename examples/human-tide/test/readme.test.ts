/** The README quotes the results that the experiments page shows. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'

const read = (path: string): string => readFileSync(new URL(path, import.meta.url), 'utf8')

test('the figures of the README are those of the latest result', () => {
  const result = JSON.parse(read('../../../bench/results/experiments/tide.json')) as {
    finding: string
    verdicts: { name: string; measured: string }[]
  }
  const quoted = read('../README.md').split('## Measured')[1]!.replaceAll(/\s+/g, ' ')
  assert.ok(quoted.includes(result.finding), result.finding)
  for (const about of [
    /^nothing that was acknowledged/,
    /^nor when the service is killed/,
    /with more phones than it can/,
  ]) {
    const { measured } = result.verdicts.find(({ name }) => about.test(name))!
    assert.ok(quoted.includes(measured), measured)
  }
})
