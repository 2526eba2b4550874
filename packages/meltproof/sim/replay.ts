/**
 * Replays a recording (recording.ts): the arrivals of the real run, what its requests really cost, its garbage and
 * what others took of its core; and before them the gate, the queue and the limiter as they are.
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

/** Who sent the requests was late by up to so much, and nobody wrote down when by how much; ms. */
const LATE_MS = 1

/**
 * Of a run in which the limit is learned, `limiter` learns it. Near the capacity a millisecond decides whether a queue is
 * found standing, and recordings do not know it: another seed deals out other ones.
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
    // What parsing takes is part of what each was recorded to cost.
    parseCostMs: 0,
    shedCostMs: recording.shedMs,
    limiter: limit === undefined ? limiter : () => fixedLimit(limit),
  })
}

/** Made for one run: it remembers who has been served. */
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
 * The first to be served costs what the first cost, and so on: so the compiler warms up as it did. Where more are
 * served than were recorded, the last half is gone through again.
 */
function inTurn(recorded: readonly RecordedStep[][], headMs: number): () => Step[] {
  let next = 0
  return () => {
    if (next >= recorded.length) next = recorded.length >> 1
    const steps = recorded[next++]!.flatMap(stepsOf)
    const [first] = steps
    if (typeof first !== 'object' || !('cpu' in first)) return steps
    // Reading its head is part of that, and what the simulator takes for it anyway.
    return [{ cpu: Math.max(0, first.cpu - headMs) }, ...steps.slice(1)]
  }
}

function stepsOf([what, ms]: RecordedStep): Step[] {
  if (what === 'pool') return [{ pool: ms }]
  return what === 'cpu' ? [{ cpu: ms }] : ['yield', { cpu: ms }]
}
