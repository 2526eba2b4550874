/** Makes a recorded run from the notes of an app (notes.mjs). Pure. */
import { packPauses, packSteps, type RecordedRun, type RecordedStep } from '../../packages/meltproof/sim/recording.ts'

/** The notes from notes.mjs; times are milliseconds of the clock of the app. */
export interface AppNotes {
  readonly requests: readonly { readonly kind: number; readonly steps: readonly number[] }[]
  readonly garbage: readonly number[]
  readonly account: readonly number[]
}

interface Step {
  readonly what: number
  readonly atMs: number
  readonly forMs: number
  readonly stolenMs: number
}

type Pause = readonly [atMs: number, forMs: number]

const [CPU, YIELD] = [0, 1]
/** Shorter waits for a core are overhead of the kernel. */
const SHORTEST_STOLEN_MS = 0.05

export function distil(
  notes: AppNotes,
  options: { readonly kinds: number; readonly firstArrivalMs: number; readonly shedMs: number },
): Pick<RecordedRun, 'costs' | 'garbage' | 'stolen'> {
  const steps = notes.requests.map(request => inFours(request.steps))
  const slices = steps.flat().filter(step => step.what === CPU)
  const garbage = withoutStolen(merged(inPairs(notes.garbage)), slices)
  // The first request starts on arrival, so its time shows when the schedule began on the app's clock.
  const beganAt = (steps[0]?.[0]?.atMs ?? 0) - options.firstArrivalMs
  const { overheads, stolenBesides } = settle(notes.account, slices, garbage, notes.requests.length, options.shedMs)
  const costs = Array.from({ length: options.kinds }, (): string[] => [])
  for (const [i, { kind }] of notes.requests.entries()) {
    costs[kind]?.push(packSteps(stepsOf(steps[i]!, garbage, overheads[i]!)))
  }
  const stolen = [...slices.map(({ atMs, stolenMs }): Pause => [atMs, stolenMs]), ...stolenBesides]
    .filter(([, forMs]) => forMs >= SHORTEST_STOLEN_MS)
    .sort(([a], [b]) => a - b)
  const sinceThen = (pauses: readonly Pause[]): string =>
    packPauses(pauses.map(([at, ms]): Pause => [at - beganAt, ms]).filter(([at]) => at >= 0))
  return { costs: costs.map(of => of.join(' ')), garbage: sinceThen(garbage), stolen: sinceThen(stolen) }
}

/** The share of the loop's busy time, including its waits for the core, in which other threads had the core. */
export function stolenShare({ account }: AppNotes): number {
  const [, busyFrom = 0, stolenFrom = 0] = account
  const [busyTo = 0, stolenTo = 0] = account.slice(-4)
  return (stolenTo - stolenFrom) / Math.max(1, busyTo - busyFrom)
}

/** Merges slices that follow each other in one turn. */
function stepsOf(steps: readonly Step[], garbage: readonly Pause[], overheadMs: number): RecordedStep[] {
  const made: ['cpu' | 'next turn' | 'pool', number][] = [['cpu', overheadMs]]
  let inNextTurn = false
  for (const step of steps) {
    if (step.what === YIELD) inNextTurn = true
    else if (step.what === CPU) {
      const ms = workOf(step, garbage)
      const last = made.at(-1)!
      if (inNextTurn) made.push(['next turn', ms])
      else if (last[0] === 'pool') made.push(['cpu', ms])
      else last[1] += ms
      inNextTurn = false
    } else made.push(['pool', step.forMs])
  }
  return made
}

/**
 * Other threads also take the core during pauses for garbage. The notes do not say at which moment of a slice they did
 * so; therefore the stolen time is spread evenly over the slice and its pauses.
 */
function withoutStolen(garbage: readonly Pause[], slices: readonly Step[]): Pause[] {
  const shortened = garbage.map(([atMs, forMs]): [number, number] => [atMs, forMs])
  for (const { atMs, forMs, stolenMs } of slices) {
    if (stolenMs < SHORTEST_STOLEN_MS) continue
    for (let i = firstEndingAfter(garbage, atMs); i < garbage.length && garbage[i]![0] < atMs + forMs; i++) {
      shortened[i]![1] -= (overlap([garbage[i]!], atMs, atMs + forMs) * stolenMs) / forMs
    }
  }
  return shortened
}

/** The work of a slice, without the time stolen from it and the garbage collected in it. */
function workOf({ atMs, forMs, stolenMs }: Step, garbage: readonly Pause[]): number {
  return Math.max(0, forMs - stolenMs - overlap(garbage, atMs, atMs + forMs))
}

/**
 * The loop is also busy with parsing and writing, outside of slices, garbage and sheds. This time is shared among the
 * requests that started in the same tenth of a second.
 */
function settle(
  account: readonly number[],
  slices: readonly Step[],
  garbage: readonly Pause[],
  requests: number,
  shedMs: number,
): { readonly overheads: number[]; readonly stolenBesides: Pause[] } {
  const overheads = new Array<number>(requests).fill(0)
  const stolenBesides: Pause[] = []
  const inOrder = [...slices].sort((a, b) => a.atMs - b.atMs)
  let next = 0
  let carriedMs = 0
  // The last interval is left out: in it the run ends and connections close.
  for (let i = 5; i < account.length - 5; i += 5) {
    const [from = 0, busyFrom = 0, stolenFrom = 0, startedFrom = 0, shedFrom = 0] = account.slice(i - 5, i)
    const [to = 0, busyTo = 0, stolenTo = 0, startedTo = 0, shedTo = 0] = account.slice(i, i + 5)
    let inSlices = 0
    let stolenInSlices = 0
    let garbageInSlices = 0
    for (; next < inOrder.length && inOrder[next]!.atMs < to; next++) {
      const { atMs, forMs, stolenMs } = inOrder[next]!
      inSlices += forMs
      stolenInSlices += stolenMs
      garbageInSlices += overlap(garbage, atMs, atMs + forMs)
    }
    const stolenMs = Math.max(0, stolenTo - stolenFrom - stolenInSlices)
    const garbageMs = Math.max(0, overlap(garbage, from, to) - garbageInSlices)
    stolenBesides.push([(from + to) / 2, stolenMs])
    const left = busyTo - busyFrom - inSlices - stolenMs - garbageMs - shedMs * (shedTo - shedFrom) + carriedMs
    const started = startedTo - startedFrom
    if (started === 0) carriedMs = left
    else {
      carriedMs = Math.min(0, left)
      overheads.fill(Math.max(0, left) / started, startedFrom, startedTo)
    }
  }
  const [settled = 0] = account.slice(-10).slice(3)
  overheads.fill(overheads[settled - 1] ?? 0, settled)
  return { overheads, stolenBesides }
}

function overlap(pauses: readonly Pause[], fromMs: number, toMs: number): number {
  let sum = 0
  for (let i = firstEndingAfter(pauses, fromMs); i < pauses.length && pauses[i]![0] < toMs; i++) {
    sum += Math.min(toMs, pauses[i]![0] + pauses[i]![1]) - Math.max(fromMs, pauses[i]![0])
  }
  return sum
}

function firstEndingAfter(pauses: readonly Pause[], atMs: number): number {
  let low = 0
  let high = pauses.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (pauses[middle]![0] + pauses[middle]![1] <= atMs) low = middle + 1
    else high = middle
  }
  return low
}

/** Sorts the pauses and merges those that overlap. */
function merged(pauses: readonly Pause[]): Pause[] {
  const all: [number, number][] = []
  for (const [at, ms] of [...pauses].sort(([a], [b]) => a - b)) {
    const last = all.at(-1)
    if (last !== undefined && at <= last[0] + last[1]) last[1] = Math.max(last[1], at + ms - last[0])
    else all.push([at, ms])
  }
  return all
}

function inPairs(numbers: readonly number[]): Pause[] {
  return Array.from({ length: numbers.length / 2 }, (_, i) => [numbers[2 * i]!, numbers[2 * i + 1]!])
}

function inFours(numbers: readonly number[]): Step[] {
  return Array.from({ length: numbers.length / 4 }, (_, i) => {
    const [what = 0, atMs = 0, forMs = 0, stolenMs = 0] = numbers.slice(4 * i, 4 * i + 4)
    return { what, atMs, forMs, stolenMs }
  })
}
