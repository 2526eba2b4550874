/** The command line in a result, which repeats the run, and the path of its report. */
import assert from 'node:assert/strict'
import path from 'node:path'
import { test } from 'node:test'
import { nearPath, provenance } from '../src/commands/carry-out.ts'

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

test('the path of a report is relative to the working directory, if it is inside', () => {
  assert.equal(nearPath(path.resolve('runs/a b/report.html')), path.join('runs', 'a b', 'report.html'))
  const elsewhere = path.resolve('..', 'other', 'report.html')
  assert.equal(nearPath(elsewhere), elsewhere)
})
