import assert from 'node:assert/strict'
import { test } from 'node:test'
import path from 'node:path'
import { linkTo, takesLinks, widthOf } from '../src/terminal.ts'

const tty = { isTTY: true }

test('the width is that of the terminal, or 80 without one or if it is unknown', () => {
  assert.equal(widthOf({ isTTY: true, columns: 132 }), 132)
  assert.equal(widthOf({ isTTY: true, columns: 0 }), 80)
  assert.equal(widthOf({ columns: 132 }), 80)
})

test('a path is a hyperlink only on a terminal known to support hyperlinks', () => {
  assert.ok(takesLinks(tty, { TERM_PROGRAM: 'iTerm.app' }))
  assert.ok(takesLinks(tty, { VTE_VERSION: '6800', TERM: 'xterm-256color' }))
  assert.ok(takesLinks(tty, { TERM: 'xterm-kitty' }))
  for (const env of [
    {},
    { TERM: 'xterm-256color' },
    { VTE_VERSION: '4205' },
    { TERM: 'dumb', TERM_PROGRAM: 'vscode' },
    { TERM: 'tmux-256color', VTE_VERSION: '6800' },
    { CI: 'true', TERM_PROGRAM: 'vscode' },
  ]) {
    assert.ok(!takesLinks(tty, env), JSON.stringify(env))
  }
  assert.ok(!takesLinks({}, { TERM_PROGRAM: 'iTerm.app' }), 'a file')
  assert.ok(takesLinks({}, { FORCE_HYPERLINK: '1' }))
  assert.ok(!takesLinks(tty, { FORCE_HYPERLINK: '0', TERM_PROGRAM: 'iTerm.app' }))
})

test('the text of a hyperlink is the path relative to the working directory, if it is inside', () => {
  const file = path.resolve('runs/a b/report.html')
  assert.equal(linkTo(file, {}, {}), path.join('runs', 'a b', 'report.html'))
  const elsewhere = path.resolve('..', 'other', 'report.html')
  assert.equal(linkTo(elsewhere, {}, {}), elsewhere)
  const link = linkTo(file, tty, { TERM: 'foot' })
  const [before, target, shown, after] = link.split(/\p{Cc}\]8;;|\p{Cc}\\/u)
  assert.deepEqual([before, shown, after], ['', path.join('runs', 'a b', 'report.html'), ''])
  assert.match(target!, /^file:\/\/\/.*\/runs\/a%20b\/report\.html$/)
})
