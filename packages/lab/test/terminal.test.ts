import assert from 'node:assert/strict'
import { test } from 'node:test'
import { widthOf } from '../src/terminal.ts'

test('the width is that of the terminal, or 80 without one or if it is unknown', () => {
  assert.equal(widthOf({ isTTY: true, columns: 132 }), 132)
  assert.equal(widthOf({ isTTY: true, columns: 0 }), 80)
  assert.equal(widthOf({ columns: 132 }), 80)
})
