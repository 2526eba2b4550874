/**
 * False sheds in front of a group commit on an unsteady disk, simulated: how many of 24 runs shed more than one in a
 * thousand although capacity suffices, and the mean share. `node bench/group-commit.ts`; figures in docs/admission.md.
 */
import { KneeLaw } from '../packages/meltproof/src/admission/knee-law.ts'
import { noisyNeighbour } from '../packages/meltproof/sim/core.ts'
import { shedShare } from '../packages/meltproof/sim/figures.ts'
import { committed, unsteadyDisk } from '../packages/meltproof/sim/scenarios.ts'
import { simulate } from '../packages/meltproof/sim/service.ts'

const RUNS = 24

for (const mostTimesSlower of [5, 8]) {
  for (const rate of [1000, 3000]) {
    for (const rampMs of [0, 3000]) {
      const shares = Array.from({ length: RUNS }, (_, i) =>
        shedShare(
          simulate(
            {
              rate: now => (now < rampMs ? 300 : rate),
              steps: committed,
              core: random => noisyNeighbour(random, 0.6, 100),
              groupCommit: unsteadyDisk(mostTimesSlower),
            },
            { seconds: 20, seed: i + 1, law: busyMs => new KneeLaw(busyMs) },
          ),
        ),
      )
      const mean = shares.reduce((sum, each) => sum + each, 0) / RUNS
      const bad = shares.filter(share => share > 0.001).length
      const start = rampMs === 0 ? 'a cold start' : 'a step from 300/s'
      console.log(
        `disk up to ${mostTimesSlower}x slower, ${rate}/s after ${start}: ${bad} of ${RUNS} runs shed falsely, ${(100 * mean).toFixed(2)} % on average`,
      )
    }
  }
}
