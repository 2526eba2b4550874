/**
 * Replays a recording (recording.ts): the arrivals of the real run, what its requests really cost, its garbage and
 * what others took of its core; and before them the gate, the queue and the law as they are.
 */
import { fixedLimit, type LimitLaw } from '../src/admission/limit.ts'
import {
  type RecordedRun,
  type RecordedStep,
  type Recording,
  unpackPauses,
  unpackSteps,
  unpackTimes,
} from './recording.ts'
import { type SimResult, simulate } from './service.ts'
import type { Step, Workload } from './workload.ts'

/** Of a run in which the limit is learned, `law` learns it. */
export function replay(recording: Recording, run: RecordedRun, law: (busyMs: () => number) => LimitLaw): SimResult {
  const { limit } = run
  return simulate(replayed(recording, run), {
    seconds: recording.seconds,
    // What parsing takes is part of what each was recorded to cost.
    parseCostMs: 0,
    shedCostMs: recording.shedMs,
    law: limit === undefined ? law : () => fixedLimit(limit),
    everybodyCounts: limit !== undefined,
  })
}

/** Made for one run: it remembers who has been served. */
export function replayed(recording: Recording, run: RecordedRun): Workload {
  const arrivals = recording.arrivals
    .flatMap((packed, kind) => unpackTimes(packed).map(atMs => ({ atMs, kind })))
    .sort((a, b) => a.atMs - b.atMs)
  return {
    rate: () => 0,
    arrivals,
    steps: () => [],
    kinds: run.costs.map(packed => ({ share: 0, steps: inTurn(packed.split(' ').map(unpackSteps)) })),
    ...(recording.poolSize === undefined ? {} : { poolSize: recording.poolSize }),
    stalls: [...unpackPauses(run.garbage), ...unpackPauses(run.stolen)].sort(([a], [b]) => a - b),
  }
}

/**
 * The first to be served costs what the first cost, and so on: so the compiler warms up as it did. Where more are
 * served than were recorded, the last half is gone through again.
 */
function inTurn(recorded: readonly RecordedStep[][]): () => Step[] {
  let next = 0
  return () => {
    if (next >= recorded.length) next = recorded.length >> 1
    return recorded[next++]!.flatMap(stepsOf)
  }
}

function stepsOf([what, ms]: RecordedStep): Step[] {
  if (what === 'pool') return [{ pool: ms }]
  return what === 'cpu' ? [{ cpu: ms }] : ['yield', { cpu: ms }]
}
