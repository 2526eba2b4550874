import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Frame, judge, placeText, type Sample } from '../../src/culprit/place.ts'

const frame = (name: string, line: number, more: Partial<Frame> = {}): Frame => ({
  name,
  file: '/app/src/a.js',
  line,
  column: 1,
  loads: false,
  ...more,
})

/** Samples of the stack at these times, each requested 0.2 ms before. */
function looks(at: Readonly<Record<number, readonly Frame[]>>, more: Partial<Sample> = {}): Sample[] {
  return Object.entries(at).map(([ms, frames]) => ({
    askedAtMs: Number(ms) - 0.2,
    fromMs: Number(ms),
    toMs: Number(ms),
    frames,
    cause: undefined,
    request: undefined,
    ...more,
  }))
}

const textOf = (samples: readonly Sample[], toMs: number): string => placeText(judge(samples, 0, toMs), '/app/')

describe('the place that held the loop', () => {
  it('is where the samples agree', () => {
    const stack = [frame('main', 3), frame('render', 88)]
    assert.equal(textOf(looks({ 30: stack, 50: stack, 70: stack, 90: stack }), 100), 'render, src/a.js:88')
  })

  it('is the caller if it called many functions', () => {
    const calls = (name: string, line: number): Frame[] => [frame('main', 3), frame(name, line)]
    assert.equal(
      textOf(looks({ 20: calls('a', 10), 40: calls('b', 20), 60: calls('c', 30), 80: calls('d', 40) }), 90),
      'main, src/a.js:3',
    )
  })

  it('is a range of lines if none of them held the loop for half of the stall', () => {
    const at = (line: number): Frame[] => [frame('render', line)]
    assert.equal(textOf(looks({ 20: at(88), 40: at(89), 60: at(90), 80: at(88) }), 90), 'render, src/a.js:88-90')
  })

  it('is unknown for a turn of many short functions, and for a single sample', () => {
    const pieces = looks({ 20: [frame('a', 1)], 40: [frame('b', 2)], 60: [frame('c', 3)], 80: [frame('d', 4)] })
    assert.equal(textOf(pieces, 100), 'unknown')
    assert.equal(textOf(looks({ 50: [frame('a', 1)] }), 100), 'unknown')
    assert.equal(textOf([], 100), 'unknown')
  })

  it('is unknown if only samples at the end of the stall show it', () => {
    const stack = [frame('after', 12)]
    assert.equal(textOf(looks({ 960: stack, 970: stack, 980: stack, 990: stack }), 1000), 'unknown')
  })

  it('is not the line after native code, which late samples show', () => {
    const next = [frame('main', 12)]
    const late = Array.from({ length: 10 }, (_, i) => looks({ [(i + 1) * 100]: next }, { askedAtMs: i * 100 + 10 })[0]!)
    assert.equal(textOf(late, 1010), 'unknown')
  })

  it('is the caller of a native function only for the time in which the function is known to have run', () => {
    const call = { askedAtMs: 60, fromMs: 60, toMs: 400, frames: [frame('load', 7)], request: undefined }
    assert.equal(textOf([{ ...call, cause: 'JSON.parse' }], 400), 'load, src/a.js:7 (JSON.parse)')
    assert.equal(textOf([{ ...call, cause: 'JSON.parse' }], 1000), 'unknown')
  })

  it('has a cause and a request only if all samples agree on them', () => {
    const request = {}
    const stack = [frame('render', 88)]
    const seen = [...looks({ 20: stack, 40: stack }, { request, cause: 'in ejs' }), ...looks({ 60: stack, 80: stack })]
    assert.deepEqual([judge(seen, 0, 90).cause, judge(seen, 0, 90).request], [undefined, undefined])
    const all = looks({ 20: stack, 40: stack, 60: stack }, { request, cause: 'in ejs' })
    assert.equal(judge(all, 0, 70).request, request)
    assert.equal(judge(all, 0, 70).cause, 'in ejs')
  })

  it('mentions that a module was loaded', () => {
    const main = frame('', 3)
    const late = frame('', 1, { file: '/app/src/late.js', loads: true })
    assert.equal(textOf(looks({ 20: [main], 40: [main], 60: [main] }), 70), 'src/a.js:3')
    for (const stack of [[main, late], [late]]) {
      assert.equal(textOf(looks({ 20: stack, 40: stack, 60: stack }), 70), 'src/late.js:1 (loading a module)')
    }
  })
})
