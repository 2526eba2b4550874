/** The command line that a result shows, for whoever wants to repeat the run. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { provenance } from '../src/commands/carry-out.ts'

const shown = (...words: readonly string[]): string => {
  const argv = process.argv
  process.argv = ['node', '/x/cli.ts', ...words]
  try {
    return provenance().commandLine
  } finally {
    process.argv = argv
  }
}

test('credentials of headers and URLs are masked, and nothing else', () => {
  const words = ['attack', 'http://me:secret@127.0.0.1:1/@scope/name', '--header', 'authorization: secret']
  const line = shown(...words)
  assert.doesNotMatch(line, /secret/)
  assert.match(line, /^meltlab attack '?http:\/\/…@127\.0\.0\.1:1\/@scope\/name/)
  assert.equal(shown('attack', 'http://127.0.0.1:1/@scope/name'), 'meltlab attack http://127.0.0.1:1/@scope/name')
})
