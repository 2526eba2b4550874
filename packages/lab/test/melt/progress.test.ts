import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bar, liveLine, progressOn, repeating } from '../../src/progress.ts'

function sink(isTTY: boolean) {
  let text = ''
  return { isTTY, columns: 10, write: (part: string) => (text += part), read: () => text }
}

test('without a terminal, progress prints lines only, and no status', () => {
  const out = sink(false)
  const progress = progressOn(out)
  progress.status('working')
  progress.line('done')
  progress.clear()
  assert.equal(out.read(), 'done\n')
})

test('on a terminal, the status is one line that is rewritten, truncated to the width, and cleared at the end', () => {
  const out = sink(true)
  const progress = progressOn(out)
  progress.status('a long status line')
  progress.status('b')
  progress.line('done')
  progress.clear()
  assert.equal(out.read(), 'a long st\r\u001b[2Kb\r\u001b[2Kdone\n')
  // The terminal has become narrower.
  out.columns = 6
  progress.status('a long status line')
  assert.match(out.read(), /\na lon$/)
})

test('a line longer than the terminal is wrapped and indented', () => {
  const out = sink(false)
  progressOn(out).line('one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen')
  assert.equal(
    out.read(),
    'one two three four five six seven eight nine ten eleven twelve thirteen\n    fourteen fifteen\n',
  )
})

test('bar() draws a share in the given width, at most full', () => {
  assert.equal(bar(0, 4), '░░░░')
  assert.equal(bar(0.5, 4), '██░░')
  assert.equal(bar(7, 4), '████')
})

test('a repeated status is rewritten in place on a terminal, and printed every five seconds otherwise', () => {
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

test('the line of a load has its rate, and the answers by status', () => {
  const line = liveLine('bare', '1,000/s')
  const seen = (elapsedMs: number, good: number) => ({
    ...{ elapsedMs, good, totalMs: 60_000, inflight: 12_345, scheduled: 0, sent: 0 },
    answered: { 200: good, 503: 7 },
    failed: { 'response-timeout': 1 },
  })
  assert.equal(
    line(seen(30_000, 15_000)),
    'bare  █████░░░░░ 30 s of 1m  1,000/s  good 500/s  in flight 12,345  200 15,000  503 7  response-timeout 1',
  )
  // The rate covers the time since the last call.
  assert.match(line(seen(31_000, 16_000)), /good 1,000\/s/)
  assert.match(liveLine('50/s')(seen(60_100, 601)), /^50\/s {2}█{10} the last answers {2}good 10\/s/)
})
