/**
 * Compares the simulator with real servers. Each recording (sim/recorded/, by bench/record.ts) is replayed, and its
 * results must match what clients really saw. With a given limit this tests the simulator alone. With a learned limit
 * it tests the limiter too, so a changed limiter needs new recordings.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ConcurrencyLimiter } from '../../src/admission/limiter/concurrency-limiter.ts'
import { type RunName, recordings } from '../../sim/recording.ts'
import { replay } from '../../sim/replay.ts'

/** Percentage points of the load offered. */
const MOST_POINTS_APART = 3
/** Percent of the goodput. At ten times the capacity, goodput is only a small part of the load offered. */
const MOST_PERCENT_APART = 5

const SEEDS = [1, 2, 3, 4, 5]

const RUNS: readonly RunName[] = ['fixed', 'learned']

test('at least ten real workloads are recorded', () => {
  assert.ok(recordings().length >= 10)
})

describe('the simulator reproduces the recording', () => {
  for (const recording of recordings()) {
    for (const name of RUNS) {
      test(`${recording.name}, limit ${name}`, () => {
        const real = recording.runs[name]
        const replays = SEEDS.map(seed => replay(recording, real, busyMs => new ConcurrencyLimiter(busyMs), seed))
        const again = `; if the limiter has changed since ${recording.commit}: node bench/record.ts --all`
        const mean = (what: 'offered' | 'good' | 'shed'): number =>
          replays.reduce((sum, each) => sum + each[what], 0) / replays.length
        assert.equal(mean('offered'), real.offered)
        for (const what of ['good', 'shed'] as const) {
          const points = (100 * (mean(what) - real[what])) / real.offered
          assert.ok(
            Math.abs(points) <= MOST_POINTS_APART,
            `${what}: ${mean(what)} simulated, ${real[what]} real, of ${real.offered}${again}`,
          )
        }
        const percent = 100 * (mean('good') / real.good - 1)
        assert.ok(Math.abs(percent) <= MOST_PERCENT_APART, `goodput ${percent.toFixed(1)} % from the real one${again}`)
      })
    }
  }
})
