/** Runs many random histories concurrently, and shrinks those with a fault. */
import fc from 'fast-check'
import type { Arena } from './arena.ts'
import type { Arm } from './arm.ts'

export interface Fault {
  readonly index: number
  readonly arm: string
  readonly kind: string
  readonly lines: readonly string[]
}

/** The first word of a fault's line, the worst first. */
const KINDS = [
  'lost',
  'doubled',
  'undead',
  'invented',
  'torn',
  'garbled',
  'hangs',
  'refused',
  'harmed',
  'vanished',
  'leaked',
  'locked',
]

/** The worst kind of fault in a history. */
export function kindOf(lines: readonly string[]): string {
  const kinds = new Set(lines.map(line => line.split(':')[0]!))
  return KINDS.find(kind => kinds.has(kind)) ?? 'other'
}

export interface Campaign {
  readonly seed: number
  readonly firstIndex: number
  /** Histories under way at once. */
  readonly parallel: number
  /** Called before each history. */
  readonly goesOn: (ran: number, faults: number) => boolean
  readonly onHistory?: (ran: number, faults: number) => void
  readonly onFault?: (fault: Fault) => void
}

export interface Outcome {
  readonly ran: number
  readonly faults: readonly Fault[]
  /** How often each event happened, by arm. */
  readonly counts: ReadonlyMap<string, number>
}

/** Keys of histories must be unique on one server. */
let keys = 0

export async function runCampaign<H>(arena: Arena<H>, arms: readonly Arm[], campaign: Campaign): Promise<Outcome> {
  const faults: Fault[] = []
  const counts = new Map<string, number>()
  let next = campaign.firstIndex
  let ran = 0
  const one = async (): Promise<void> => {
    while (campaign.goesOn(next - campaign.firstIndex, faults.length)) {
      const index = next++
      const history = historyAt(arena, campaign.seed, index)
      for (const arm of arms) {
        const count = (what: string): void => {
          const name = `${arm.name}: ${what}`
          counts.set(name, (counts.get(name) ?? 0) + 1)
        }
        const lines = await arena.run(history, arm, ++keys, count)
        if (lines.length === 0) continue
        const fault = { index, arm: arm.name, kind: kindOf(lines), lines }
        faults.push(fault)
        campaign.onFault?.(fault)
      }
      ran++
      campaign.onHistory?.(ran, faults.length)
    }
  }
  await Promise.all(Array.from({ length: campaign.parallel }, one))
  return { ran, faults, counts }
}

/** Each history has its own seed, so that it can be repeated alone. */
function seedAt(seed: number, index: number): number {
  return (seed + Math.imul(index, 0x9e3779b1)) | 0
}

export function historyAt<H>(arena: Arena<H>, seed: number, index: number): H {
  return fc.sample(arena.histories, { seed: seedAt(seed, index), numRuns: 1 })[0]!
}

export interface Shrunk<H> {
  readonly history: H
  readonly lines: readonly string[]
}

export interface Effort {
  /** Faults depend on timing. A history without one in this many tries counts as free of faults. */
  readonly tries: number
  readonly withinMs: number
}

/**
 * Repeats the history and ever smaller ones. Returns the smallest that still has a fault (of `kind`, if given), or
 * undefined if none has.
 */
export async function shrink<H>(
  arena: Arena<H>,
  arm: Arm,
  seed: number,
  index: number,
  { tries, withinMs }: Effort,
  kind?: string,
): Promise<Shrunk<H> | undefined> {
  let smallest: Shrunk<H> | undefined
  const holds = async (history: H): Promise<boolean> => {
    // All tries run at once, so each meets another timing.
    const runs = await Promise.all(Array.from({ length: tries }, () => arena.run(history, arm, ++keys)))
    const lines = runs.find(each => each.length > 0 && (kind === undefined || kindOf(each) === kind))
    if (lines !== undefined) smallest = { history, lines }
    return lines === undefined
  }
  await fc.check(fc.asyncProperty(arena.histories, holds), {
    seed: seedAt(seed, index),
    numRuns: 1,
    interruptAfterTimeLimit: withinMs,
  })
  return smallest
}
