import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bar, progressOn, repeating } from '../../src/progress.ts'

function sink(isTTY: boolean) {
  let text = ''
  return { isTTY, columns: 10, write: (part: string) => (text += part), read: () => text }
}

test('without a terminal there are plain lines only', () => {
  const out = sink(false)
  const progress = progressOn(out)
  progress.status('working')
  progress.line('done')
  progress.clear()
  assert.equal(out.read(), 'done\n')
})

test('on a terminal the status is one line, rewritten, cut to fit, and gone in the end', () => {
  const out = sink(true)
  const progress = progressOn(out)
  progress.status('a long status line')
  progress.status('b')
  progress.line('done')
  progress.clear()
  assert.equal(out.read(), 'a long st\r\u001b[2Kb\r\u001b[2Kdone\n')
  // Somebody has made the window narrower.
  out.columns = 6
  progress.status('a long status line')
  assert.match(out.read(), /\na lon$/)
})

test('a line that is longer than the terminal goes on below, indented', () => {
  const out = sink(false)
  progressOn(out).line('one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen')
  assert.equal(
    out.read(),
    'one two three four five six seven eight nine ten eleven twelve thirteen\n    fourteen fifteen\n',
  )
})

test('bar', () => {
  assert.equal(bar(0, 4), '░░░░')
  assert.equal(bar(0.5, 4), '██░░')
  assert.equal(bar(7, 4), '████')
})

test('what repeats is rewritten in place on a terminal, and a line every five seconds elsewhere', () => {
  const shown = (isTTY: boolean): string => {
    let text = ''
    const out = { isTTY, write: (part: string) => (text += part) }
    const tell = repeating(progressOn(out), out, 5000)
    for (let second = 1; second <= 10; second++) tell(`${second} s`, second * 1000)
    return text
  }
  assert.equal(shown(false), '5 s\n10 s\n')
  assert.equal(shown(true).split('\u001b').length, 10)
})
