/**
 * The lines of a dry run: the first appears soon, the others at growing intervals, and together they count every
 * would-be shed.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { it, mock } from 'node:test'
import { dryRunLines, printDryRun } from '../../src/register/dry-run-lines.ts'
import { fakeTimers } from '../fake-timers.ts'

type Figures = Parameters<ReturnType<typeof dryRunLines>>[0]

const NONE = { standing: 0, stale: 0, late: 0, full: 0, deadline: 0, closing: 0, memory: 0, upgrade: 0 }
const figures = (admitted: number, shed: Partial<Figures['shed']> = {}): Figures => ({
  admitted,
  shed: { ...NONE, ...shed },
})

it('without would-be sheds there is no line', () => {
  const lineOf = dryRunLines(0)
  for (let s = 5; s < 600; s += 5) assert.equal(lineOf(figures(s * 100), s * 1000), undefined)
})

it('a line says how many requests would have been shed, why, and in which time', () => {
  const lineOf = dryRunLines(0)
  assert.equal(lineOf(figures(1500), 5000), undefined)
  assert.equal(
    lineOf(figures(1600, { full: 1, standing: 250 }), 10_000),
    'would have shed 251 of 351 requests in the last 5 s (standing 250, full 1). In this dry run all were served.',
  )
})

it('docs/register.md shows a line as it is printed', () => {
  const page = readFileSync(new URL('../../../../docs/register.md', import.meta.url), 'utf8')
  const line = dryRunLines(0)(figures(606, { standing: 3904 }), 10_000)
  assert.ok(page.includes(`MeltproofWarning: meltproof/register ${line}\n`), line)
})

it('an overload of an hour prints about one line a minute, and the lines add up', () => {
  const lineOf = dryRunLines(0)
  const told: { atMs: number; shed: number }[] = []
  for (let s = 5; s <= 3600; s += 5) {
    const line = lineOf(figures(s * 10, { standing: s * 90 }), s * 1000)
    if (line !== undefined) told.push({ atMs: s * 1000, shed: Number(/shed (\d+) of/.exec(line)![1]) })
  }
  assert.deepEqual(
    told.slice(0, 5).map(({ atMs }) => atMs / 1000),
    [5, 15, 35, 75, 135],
  )
  assert.ok(told.length < 65, `${told.length} lines`)
  assert.equal(
    told.reduce((sum, { shed }) => sum + shed, 0),
    (told.at(-1)!.atMs / 1000) * 90,
  )
})

it('the dry run is announced, and checked every five seconds', t => {
  t.after(fakeTimers('setInterval'))
  const printed: string[] = []
  let now: Figures | undefined
  printDryRun(
    () => now,
    text => printed.push(text),
  )
  assert.match(printed[0]!, /is in a dry run: every request is served/)
  now = figures(10, { late: 5 })
  mock.timers.tick(4999)
  assert.equal(printed.length, 1)
  mock.timers.tick(1)
  assert.match(printed[1]!, /would have shed 5 of 15 requests/)
  assert.equal(printed.length, 2)
})
