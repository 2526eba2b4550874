/** The contents of a recording: numbers are read back unchanged, and CPU time is separated from interruptions. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { distil, stolenShare } from '../bench/recording/distil.ts'
import {
  packPauses,
  packSteps,
  packTimes,
  type RecordedStep,
  unpackPauses,
  unpackSteps,
  unpackTimes,
} from '../packages/meltproof/sim/recording.ts'

const [CPU, YIELD, POOL] = [0, 1, 2]
const near = (actual: number, expected: number): void =>
  assert.ok(Math.abs(actual - expected) <= 0.0051, `${actual}, not ${expected}`)

test('packed recordings are read back with an error of at most a hundredth of a millisecond', () => {
  const steps: RecordedStep[] = [
    ['cpu', 0.12],
    ['next turn', 1.03],
    ['pool', 50.4],
    ['cpu', 0],
  ]
  const read = unpackSteps(packSteps(steps))
  assert.deepEqual(
    read.map(([what]) => what),
    steps.map(([what]) => what),
  )
  for (const [i, [, ms]] of read.entries()) near(ms, steps[i]![1])
  // A thousand gaps that each end between two units. Rounding errors must not add up.
  const times = Array.from({ length: 1000 }, (_, i) => (i + 1) * 1.23456)
  for (const [i, time] of unpackTimes(packTimes(times)).entries()) near(time, times[i]!)
  const written: [number, number][] = [
    [10.006, 5],
    [20, 0.5],
  ]
  const pauses = unpackPauses(packPauses(written))
  near(pauses[1]![0], 20)
  near(pauses[1]![1], 0.5)
  assert.deepEqual(unpackPauses(packPauses([])), [])
})

test('a recorded slice has its own CPU time, without garbage collection and stolen time', () => {
  // The second request takes 7 ms of wall time, 2 of them for garbage and 1 stolen, and then 50 ms in the pool.
  const notes = {
    requests: [
      { kind: 0, steps: [CPU, 1000, 1, 0, YIELD, 1001, 0, 0, CPU, 1002, 3, 0] },
      { kind: 0, steps: [CPU, 1010, 7, 1, POOL, 1017, 50, 0, CPU, 1070, 1, 0] },
    ],
    garbage: [1012, 2, 1013, 0.5],
    // Busy for 20 ms in a tenth of a second: 12 ms in slices, 2 ms for 20 sheds, and 6 ms for two starts.
    account: [999, 0, 0, 0, 0, 1099, 20, 1, 2, 20, 1200, 500, 1, 2, 20],
  }
  const { costs, garbage, stolen } = distil(notes, { kinds: 1, firstArrivalMs: 40, shedMs: 0.1 })
  const [one, other] = costs[0]!.split(' ').map(unpackSteps)
  assert.deepEqual(
    one!.map(([what]) => what),
    ['cpu', 'next turn'],
  )
  near(one![0]![1], 1 + 3)
  near(one![1]![1], 3)
  assert.deepEqual(
    other!.map(([what]) => what),
    ['cpu', 'pool', 'cpu'],
  )
  // Two sevenths of the stolen millisecond are assigned to the pause.
  near(other![0]![1], 7 - 1 - 2 * (6 / 7) + 3)
  // Times count from the beginning of the schedule, because the first request started on arrival.
  near(unpackPauses(garbage)[0]![0], 52)
  near(unpackPauses(garbage)[0]![1], 2 * (6 / 7))
  near(unpackPauses(stolen)[0]![0], 50)
  near(stolenShare(notes), 1 / 500)
})
