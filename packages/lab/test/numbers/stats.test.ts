/** `meltlab stats` and its pure parts. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { QuantileSketch } from '../../src/numbers/quantile-sketch.ts'
import { BoundedLines, RunningNumbers } from '../../src/numbers/running-numbers.ts'
import { type Kill, runCli } from '../run-cli.ts'

async function stats(
  input: string | ((stdin: NodeJS.WritableStream, kill: Kill) => unknown),
  ...flags: string[]
): Promise<{ code: number | null; out: string; err: string }> {
  const { code, stdout, stderr } = await runCli(['stats', ...flags], {
    onStart: (kill, stdin) => (typeof input === 'string' ? stdin.end(input) : input(stdin, kill)),
  })
  return { code, out: stdout, err: stderr }
}

describe('meltlab stats', () => {
  it('prints the line that number-aggregator-stats prints, and percentiles', async () => {
    const { code, out, err } = await stats('3\n4\n4\n')
    assert.deepEqual({ code, err }, { code: 0, err: '' })
    assert.match(out, /^Meas: 3 Min: 3 Max: 4 Avg: 3\.667 Cur: 4\np50: 4 p90: 4 p95: 4 p99: 4 p99\.9: 4\n$/)
  })

  it('counts lines that are not numbers, quotes the first, and reads a last line without a line end', async () => {
    const { code, out, err } = await stats('1\nabc\u001b[31m\n\n0x10\n-2.5e3')
    assert.equal(code, 0)
    assert.match(out, /^Meas: 2 Min: -2500 Max: 1 .*Not numbers: 2$/m)
    assert.match(err, /2 lines were not numbers; the first is 'abc\?\[31m'/)
  })

  it('prints one JSON document with --json', async () => {
    const { out } = await stats('10\n20\nx\n', '--json')
    const { count, mean, notNumbers } = JSON.parse(out)
    assert.deepEqual({ count, mean, notNumbers }, { count: 2, mean: 15, notNumbers: 1 })
  })

  it('exits with code 2 and says what it expects if there is no input', async () => {
    const { code, err } = await stats('')
    assert.equal(code, 2)
    assert.match(err, /expected one per line/)
  })

  it('prints the figures so far on Ctrl-C, and exits with code 130', async () => {
    const { code, out } = await stats(async (stdin, kill) => {
      // A pipe holds less than this, so the command has read some of it once all is written.
      await new Promise(written => stdin.write('7\n'.repeat(1_000_000), written))
      kill('SIGINT')
    })
    assert.equal(code, 130)
    assert.match(out, /^Meas: \d+ Min: 7/)
  })
})

describe('RunningNumbers', () => {
  it('does not accept a truncated line as a number', async () => {
    const { out } = await stats(`1\n0.${'0'.repeat(2000)}abc\n`, '--json')
    const { count, notNumbers } = JSON.parse(out) as { count: number; notNumbers: number }
    assert.deepEqual({ count, notNumbers }, { count: 1, notNumbers: 1 })
  })

  it('computes the mean of very large numbers without overflow', () => {
    const numbers = new RunningNumbers()
    for (const line of ['1e308', '-1e308', '1e308', '-1e308']) numbers.line(line)
    assert.ok(Math.abs(numbers.figures()!.mean) < 1e295, String(numbers.figures()!.mean))
  })
})

describe('QuantileSketch', () => {
  it('is within its accuracy of the exact quantile for any numbers', () => {
    const number = fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e12, max: 1e12 })
    fc.assert(
      fc.property(
        fc.array(number, { minLength: 1, maxLength: 200 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (values, share) => {
          const sketch = new QuantileSketch()
          for (const value of values) sketch.record(value)
          const sorted = [...values].sort((a, b) => a - b)
          const exact = sorted[Math.max(1, Math.ceil(share * sorted.length)) - 1]!
          const [estimate] = sketch.quantiles([share])
          assert.ok(
            Math.abs(estimate! - exact) <= Math.abs(exact) * 0.0051 + Number.MIN_VALUE * 10,
            `${estimate} for ${exact}`,
          )
        },
      ),
    )
  })

  it('uses bounded memory for any count of numbers', () => {
    const sketch = new QuantileSketch()
    for (let i = 0; i < 300_000; i++) sketch.record(Math.exp((i % 1400) - 700) * (i % 2 === 0 ? 1 : -1))
    assert.ok(sketch.buckets <= 1400, `${sketch.buckets} buckets for 1,400 values`)
  })
})

describe('BoundedLines', () => {
  it('yields the same lines however the text is split into pieces', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ maxLength: 30 })), fc.array(fc.nat(10)), (lines, cuts) => {
        const text = lines.map(line => line.replaceAll('\n', ' ')).join('\n')
        const got: string[] = []
        const reader = new BoundedLines(100, line => got.push(line))
        let rest = text
        for (const cut of cuts) {
          reader.add(rest.slice(0, cut))
          rest = rest.slice(cut)
        }
        reader.add(rest)
        reader.end()
        const expected = text.split('\n')
        if (expected.at(-1) === '') expected.pop()
        assert.deepEqual(got, expected)
      }),
    )
  })

  it('truncates an endless line', () => {
    const got: string[] = []
    const reader = new BoundedLines(4, line => got.push(line))
    for (let i = 0; i < 1000; i++) reader.add('12345678')
    reader.add('\n5\n')
    assert.deepEqual(got, ['12345', '5'])
  })
})

it('RunningNumbers adds small numbers to a large sum without loss', () => {
  const numbers = new RunningNumbers()
  for (const value of ['1e15', '1', '1', '1']) numbers.line(value)
  assert.equal(numbers.figures()?.mean, (1e15 + 3) / 4)
})
