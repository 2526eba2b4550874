/** The queue of log lines: for all lines and ways of writing, the counts add up and no line is torn. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { LineQueue, PIECE_OVERHEAD } from '../../src/logging/stdout/line-queue.ts'
import { CUT_NOTICE } from '../../src/logging/stdout/notices.ts'

const CUT = CUT_NOTICE.trimEnd()
const GAP = /^~GAP (\d+)$/

/** A queue with a reader of its output. */
function bench(maxBytes: number) {
  let out = ''
  const settled: [number, boolean][] = []
  const queue = new LineQueue<number>(
    { bufferBytes: maxBytes },
    {
      gapNotice: lines => `~GAP ${lines}\n`,
      settled: (done, lost) => settled.push([done, lost]),
    },
  )
  const take = (bytes: Uint8Array, taken: number): number => {
    out += Buffer.from(bytes.subarray(0, taken)).toString('latin1')
    queue.advance(taken)
    return taken
  }
  return {
    queue,
    settled,
    take,
    push: (text: string, done?: number) => queue.push(text, done),
    write(maxTaken: number, batch = 64): number {
      const bytes = queue.peek(batch)
      return bytes === undefined ? 0 : take(bytes, Math.min(maxTaken, bytes.length))
    },
    drain(): void {
      while (this.write(1_000_000) > 0);
    },
    get out() {
      return out
    },
    /** Parses the output: whole lines, cut lines, and the losses that notices report. */
    read() {
      const lines = out.split('\n')
      const tail = lines.pop()!
      const whole = lines.filter(line => !GAP.test(line) && !line.endsWith(CUT))
      const cut = lines.filter(line => line.endsWith(CUT)).length
      const told = lines.reduce((sum, line) => sum + Number(GAP.exec(line)?.[1] ?? 0), 0)
      return { whole, cut, told, tail }
    },
  }
}

type Step = { push: string; whole?: boolean } | { write: number; batch: number }

const text = fc.oneof(
  fc.nat({ max: 60 }).map(length => `${'x'.repeat(length)}\n`),
  fc.nat({ max: 2000 }).map(length => `${'y'.repeat(length)}\n`),
  fc.array(fc.constantFrom('a', 'bc', '\n', 'defg\n', ''), { maxLength: 12 }).map(parts => parts.join('')),
  fc.constantFrom('prompt> ', '.', ''),
)
const writing = fc.record({ write: fc.nat({ max: 300 }), batch: fc.integer({ min: 1, max: 400 }) })
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: text.map(push => ({ push })) },
  { weight: 3, arbitrary: writing },
)

/** Numbers every line, to detect reordering, tearing and duplicates. */
function numbered(pushes: readonly string[]): string[] {
  let line = 0
  return pushes.map(push => push.replaceAll('\n', () => `#${line++}\n`))
}

it('a thousand empty writes do not exceed the limit of the queue', () => {
  const b = bench(400)
  b.push('a line\n', 0)
  for (let i = 1; i <= 1000; i++) b.push('', i)
  assert.ok(b.queue.stats.bufferedBytes <= 400, `${b.queue.stats.bufferedBytes}`)
  b.drain()
  assert.deepEqual(
    b.settled.map(([done]) => done).sort((x, y) => x - y),
    Array.from({ length: 1001 }, (_, i) => i),
  )
  assert.ok(b.settled.every(([, lost]) => !lost))
})

it('a line counts as written when its end is written, also within a chunk of several lines', () => {
  const b = bench(4000)
  b.push('one\ntwo\nthree\n')
  b.write(6)
  assert.partialDeepStrictEqual(b.queue.stats, { written: 1, waiting: 2 })
  b.write(2)
  assert.partialDeepStrictEqual(b.queue.stats, { written: 2, waiting: 1 })
  b.write(3)
  assert.equal(b.queue.abandon(), 1)
  assert.partialDeepStrictEqual(b.queue.stats, { written: 2, waiting: 0, lost: 1, lostBytes: 3 })
})

it('after abandon() within a line, only the notice of the cut line is held, then nothing', () => {
  const b = bench(4000)
  b.push('one\ntwo\nthree\n')
  b.write(6)
  assert.equal(b.queue.stats.bufferedBytes, PIECE_OVERHEAD + 'one\ntwo\nthree\n'.length)
  b.queue.abandon()
  assert.equal(b.queue.stats.bufferedBytes, PIECE_OVERHEAD + CUT_NOTICE.length)
  b.drain()
  assert.equal(b.queue.stats.bufferedBytes, 0)
})

describe('property: for all lines and ways of writing', () => {
  it('no line is torn, out of order or uncounted', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120 }), fc.integer({ min: 400, max: 3000 }), (steps, maxBytes) => {
        const pushes = numbered(steps.flatMap(each => ('push' in each ? [each.push] : [])))
        const logged = pushes.join('').split('\n')
        const last = logged.pop()!
        const b = bench(maxBytes)
        let pushed = 0
        for (const each of steps) {
          if ('push' in each) {
            b.push(pushes[pushed]!, pushed)
            pushed++
            // One or two notices may exceed the limit.
            const { bufferedBytes } = b.queue.stats
            assert.ok(bufferedBytes <= maxBytes + 6 * (PIECE_OVERHEAD + 20), `${bufferedBytes} of ${maxBytes}`)
          } else b.write(each.write, each.batch)
        }
        b.drain()
        assert.ok(b.queue.empty)
        const seen = b.read()
        const got = new Set(seen.whole)
        const whole = logged.filter(line => got.has(line))
        assert.deepEqual(seen.whole, whole, 'lines that were logged, each once, in order')
        const lastLost = last !== '' && seen.tail !== last ? 1 : 0
        const { written, waiting, lost, lostBytes, bufferedBytes } = b.queue.stats
        assert.equal(seen.whole.length + lost, logged.length + lastLost)
        assert.equal(written, seen.whole.length)
        assert.equal(seen.told, lost, 'the notices tell of every lost line')
        assert.ok(seen.cut <= lost)
        const theirs = b.out.replace(/^~GAP \d+\n/gm, '').replaceAll(CUT_NOTICE, '')
        assert.equal(theirs.length + lostBytes, pushes.join('').length, 'every byte')
        assert.deepEqual([bufferedBytes, waiting], [0, 0])
        assert.deepEqual(
          b.settled.map(([done]) => done).sort((x, y) => x - y),
          pushes.map((_, i) => i),
          'every callback, once',
        )
      }),
      { numRuns: 5000 },
    )
  })

  it('after abandon() at any moment, the reported and the unreported losses are all that is missing', () => {
    const whole = text.map(push => ({ push, whole: true }))
    const steps = fc.array(fc.oneof({ weight: 9, arbitrary: step }, { weight: 1, arbitrary: whole }), { maxLength: 60 })
    fc.assert(
      fc.property(steps, steps, fc.integer({ min: 400, max: 3000 }), (first, second, maxBytes) => {
        const all: (Step | 'abandon')[] = [...first, 'abandon', ...second, { push: '\n' }]
        const pushes = numbered(all.flatMap(each => (typeof each === 'object' && 'push' in each ? [each.push] : [])))
        const logged = pushes.join('').split('\n').slice(0, -1)
        const b = bench(maxBytes)
        let pushed = 0
        let untold = 0
        for (const each of all) {
          if (each === 'abandon') untold = b.queue.abandon()
          else if ('push' in each) b.queue.push(pushes[pushed++]!, undefined, each.whole)
          else if ('write' in each) b.write(each.write, each.batch)
        }
        b.drain()
        const seen = b.read()
        const got = new Set(seen.whole)
        assert.deepEqual(
          seen.whole,
          logged.filter(line => got.has(line)),
        )
        const { lost, bufferedBytes, waiting } = b.queue.stats
        assert.equal(seen.whole.length + lost, logged.length)
        assert.equal(seen.told + untold, lost)
        assert.deepEqual([bufferedBytes, waiting], [0, 0])
      }),
      { numRuns: 5000 },
    )
  })
})

describe('a full queue', () => {
  it('keeps the first lines, and reports its losses in one place', () => {
    const b = bench(1700)
    for (let i = 0; i < 30; i++) b.push(`line ${i}\n`)
    b.write(1_000_000, 1_000_000)
    b.push('after\n')
    b.drain()
    assert.match(b.out, /^line 0\n(line \d\n){5,9}~GAP \d\d\nafter\n$/)
  })

  it('drops lines until it is half empty, so that gaps are few', () => {
    const b = bench(10_000)
    for (let i = 0; i < 2000; i++) {
      b.push(`line ${i}\n`)
      if (i % 2 === 0) b.write(1_000_000, 8)
    }
    b.drain()
    const gaps = b.out.match(/~GAP/g)?.length ?? 0
    assert.ok(gaps >= 2 && gaps < 80, `${gaps} gaps`)
  })

  it('drops a line longer than itself, and nothing else', () => {
    const b = bench(1000)
    b.push('before\n')
    b.push(`${'x'.repeat(5000)}\n`)
    b.push('after\n')
    b.drain()
    assert.equal(b.out, 'before\n~GAP 1\nafter\n')
  })

  it('ends a line whose first part is written when the rest has no room', () => {
    const b = bench(1000)
    b.push('loading')
    b.drain()
    b.push('.'.repeat(2000))
    b.push('done\n')
    b.push('next\n')
    b.drain()
    assert.equal(b.out, `loading${CUT_NOTICE}~GAP 1\nnext\n`)
  })

  it('drops a whole line whose parts all still wait', () => {
    const b = bench(1000)
    b.push('loading')
    b.push('.'.repeat(2000))
    b.push('done\nnext\n')
    b.drain()
    assert.equal(b.out, '~GAP 1\nnext\n')
  })

  it('does not grow from notices of long lines while nothing is read', () => {
    const b = bench(1000)
    for (let i = 0; i < 1000; i++) {
      b.push(`${'x'.repeat(5000)}\n`)
      b.write(0, 4096)
    }
    assert.ok(b.queue.stats.bufferedBytes < 400, `${b.queue.stats.bufferedBytes}`)
    b.drain()
    assert.equal(b.out, '~GAP 1\n~GAP 999\n')
  })
})

describe('a write that is accepted whole', () => {
  it('may exceed the limit, and the lines after it are dropped until the queue is half empty', () => {
    const b = bench(1000)
    const long = 'one of many lines\n'.repeat(500)
    b.push('first\n', 1)
    b.queue.push(long, 2, true)
    b.push('next\n', 3)
    assert.deepEqual(b.settled, [[3, true]])
    assert.partialDeepStrictEqual(b.queue.stats, { waiting: 501, lost: 1 })
    b.drain()
    b.push('after\n', 4)
    b.drain()
    assert.equal(b.out, `first\n${long}~GAP 1\nafter\n`)
    assert.deepEqual(b.settled.slice(1), [
      [1, false],
      [2, false],
      [4, false],
    ])
  })

  it('does not contain the rest of a line that was partly dropped', () => {
    const b = bench(1000)
    b.push('loading')
    b.push('.'.repeat(2000))
    b.queue.push('done\nnext\n', 1, true)
    b.drain()
    assert.equal(b.out, '~GAP 1\nnext\n')
  })
})

describe('an empty write', () => {
  it('settles when all lines before it are written, also beyond the limit', () => {
    const b = bench(1000)
    b.queue.push(`${'x'.repeat(5000)}\n`, 1, true)
    b.push('', 2)
    assert.deepEqual(b.settled, [])
    b.drain()
    assert.deepEqual(b.settled, [
      [1, false],
      [2, false],
    ])
  })

  it('settles when all lines before it are written', () => {
    const b = bench(1000)
    b.push('line\n', 1)
    b.push('', 2)
    assert.deepEqual(b.settled, [])
    b.drain()
    assert.deepEqual(b.settled, [
      [1, false],
      [2, false],
    ])
    b.push('', 3)
    assert.deepEqual(b.settled[2], [3, false])
  })
})
