/**
 * The main job end to end: the burst app melts bare and holds with meltproof. The ratios are wide, and there is no
 * timing: the share of the capacity that is kept depends on how long the machine takes to compile a new process.
 * Benchmarks measure that share (bench/overload.ts, and `cold-start` of bench/evidence.ts).
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { burstCommand } from '../../src/scenarios/burst.ts'
import { meltlab } from '../melt/meltlab.ts'

test('at 6x, bare keeps less than 30 % of the capacity, and protected more than half and twice as much', async t => {
  const ended = await meltlab(['--quick', '--at', '0.5,6', '--name', 'burst', '--', ...burstCommand])
  assert.equal(ended.code, 0, ended.stderr)
  const { result } = ended
  assert.ok(result !== undefined)
  assert.equal(result.incomplete, false)
  assert.deepEqual(ended.strays, [])
  assert.deepEqual(ended.files, ['picture.svg', 'report.html', 'result.json'])

  const foreign = Math.max(...result.measured.steps.map(({ server }) => server.foreignShare ?? 0))
  if (foreign > 0.5) {
    assert.equal(result.certified, false)
    t.skip(`something else used ${Math.round(100 * foreign)} % of the server's core`)
    return
  }
  const row = (arm: string, multiple: number) =>
    result.measured.rows.find(each => each.arm === arm && each.multiple === multiple)!
  const { rate } = result.measured.capacity!
  assert.ok(rate > 50 && rate < 220, `capacity ${rate}/s; 5 ms of work allow 200/s at most`)
  for (const arm of ['bare', 'protected']) {
    assert.ok(row(arm, 0.5).goodput > row(arm, 0.5).offered * 0.8, `${arm} answers half its capacity`)
  }
  assert.ok(row('bare', 6).ofCapacity < 0.3, `bare kept ${row('bare', 6).ofCapacity}`)
  const { ofCapacity } = row('protected', 6)
  const { server } = result.measured.steps.find(({ arm, multiple }) => arm === 'protected' && multiple === 6)!
  const left = 1 - (server.foreignShare ?? 0)
  const melted = row('bare', 6).ofCapacity
  assert.ok(
    ofCapacity > Math.max(0.5 * left, 2 * melted),
    `protected kept ${ofCapacity}, bare ${melted}, and others left ${left} of the core`,
  )
  assert.ok(row('protected', 6).shed > 0)

  const { recovery, spinPerMs } = result.measured
  const [bare, guarded] = recovery!.arms
  assert.deepEqual([bare!.arm, guarded!.arm], ['bare', 'protected'])
  assert.equal(bare!.backAfterS, null, 'two seconds at 10x leave bare 16 s of work')
  assert.ok(guarded!.unsure !== null || guarded!.backAfterS !== null, 'protected is back within 5 s')
  assert.ok(spinPerMs.before! > 0 && spinPerMs.after! > 0)
  assert.ok(row('bare', 6).peakRssBytes > 20e6)
  assert.match(ended.stdout, /report\.html\n$/)
})
