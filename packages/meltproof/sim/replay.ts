/**
 * Replays a recording (recording.ts): the arrivals of the real run, the real cost of its requests, its garbage
 * collection and the slices that other processes took. The gate, the queue and the limiter are the real ones.
 */
import { fixedLimit, type Limiter } from '../src/admission/limiter/limiter.ts'
import { interrupted } from './core.ts'
import {
  type RecordedRun,
  type RecordedStep,
  type Recording,
  unpackPauses,
  unpackSteps,
  unpackTimes,
} from './recording.ts'
import { Random } from './random.ts'
import { HEAD_SHARE } from './instance.ts'
import { type SimResult, simulate } from './service.ts'
import type { Step, Workload } from './workload.ts'

/** The load generator sent requests up to this late, ms. The recording does not say how late each one was. */
const LATE_MS = 1

/**
 * If the run learned its limit, `limiter` learns it again. Near capacity a millisecond decides whether a queue counts
 * as standing, so results differ with the seed, which draws how late each request was (LATE_MS).
 */
export function replay(
  recording: Recording,
  run: RecordedRun,
  limiter: (busyMs: () => number) => Limiter,
  seed = 1,
): SimResult {
  const { limit } = run
  return simulate(replayed(recording, run, new Random(seed)), {
    seconds: recording.seconds,
    // The recorded cost of each request includes parsing.
    parseCostMs: 0,
    shedCostMs: recording.shedMs,
    limiter: limit === undefined ? limiter : () => fixedLimit(limit),
  })
}

/** Use the workload for one run only, because it remembers which requests were served. */
export function replayed(recording: Recording, run: RecordedRun, random: Random): Workload {
  const arrivals = recording.arrivals
    .flatMap((packed, kind) => unpackTimes(packed).map(atMs => ({ atMs: atMs + LATE_MS * random.next(), kind })))
    .sort((a, b) => a.atMs - b.atMs)
  const pauses = [...unpackPauses(run.garbage), ...unpackPauses(run.stolen)].sort(([a], [b]) => a - b)
  const headMs = recording.shedMs * HEAD_SHARE
  return {
    rate: () => 0,
    arrivals,
    steps: () => [],
    kinds: run.costs.map(packed => ({ share: 0, steps: inTurn(packed.split(' ').map(unpackSteps), headMs) })),
    ...(recording.poolSize === undefined ? {} : { poolSize: recording.poolSize }),
    core: () => interrupted(pauses),
  }
}

/**
 * The n-th request served costs what the n-th cost in the recording, so the compiler warms up as it did. If more are
 * served than were recorded, the last half repeats.
 */
function inTurn(recorded: readonly RecordedStep[][], headMs: number): () => Step[] {
  let next = 0
  return () => {
    if (next >= recorded.length) next = recorded.length >> 1
    const steps = recorded[next++]!.flatMap(stepsOf)
    const [first] = steps
    if (typeof first !== 'object' || !('cpu' in first)) return steps
    // The recorded cost includes reading the head, which the simulator adds by itself.
    return [{ cpu: Math.max(0, first.cpu - headMs) }, ...steps.slice(1)]
  }
}

function stepsOf([what, ms]: RecordedStep): Step[] {
  if (what === 'pool') return [{ pool: ms }]
  return what === 'cpu' ? [{ cpu: ms }] : ['yield', { cpu: ms }]
}
