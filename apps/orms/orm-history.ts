/** Random programs for an object-relational mapper: inserts and transactions of several requests. Pure. */
import fc from 'fast-check'
import { anEnding, type Ending, sayEnding } from '../../packages/meltproof/test/databases/histories/ending.ts'

export type OrmStep =
  | { readonly do: 'insert' }
  /** The database takes this time. */
  | { readonly do: 'work'; readonly ms: number }
  /** The app takes this time. */
  | { readonly do: 'think'; readonly ms: number }
  | { readonly do: 'nested'; readonly throws: boolean; readonly steps: readonly OrmStep[] }
  | {
      readonly do: 'transaction'
      /** With a function that receives the transaction, or with explicit commit() and rollback(). */
      readonly how: 'managed' | 'by hand'
      readonly throws: boolean
      readonly steps: readonly OrmStep[]
    }

export interface OrmUser {
  readonly startMs: number
  readonly ending: Ending
  readonly steps: readonly OrmStep[]
}

export interface OrmHistory {
  readonly pool: number
  readonly users: readonly OrmUser[]
}

const ms = fc.integer({ min: 0, max: 20 })
const single: fc.WeightedArbitrary<OrmStep>[] = [
  { weight: 4, arbitrary: fc.constant<OrmStep>({ do: 'insert' }) },
  { weight: 2, arbitrary: ms.map<OrmStep>(each => ({ do: 'work', ms: each })) },
  { weight: 2, arbitrary: ms.map<OrmStep>(each => ({ do: 'think', ms: each })) },
]
const steps = (choices: fc.WeightedArbitrary<OrmStep>[]): fc.Arbitrary<OrmStep[]> =>
  fc.array(fc.oneof(...choices), { minLength: 1, maxLength: 4 })
const throws = fc.integer({ min: 0, max: 3 }).map(n => n === 0)
const nested = fc.record({ throws, steps: steps(single) }).map<OrmStep>(each => ({ do: 'nested', ...each }))
const transaction = fc
  .record({
    how: fc.constantFrom('managed' as const, 'by hand' as const),
    throws,
    steps: steps([...single, { weight: 1, arbitrary: nested }]),
  })
  .map<OrmStep>(each => ({ do: 'transaction', ...each }))

export const ormHistory: fc.Arbitrary<OrmHistory> = fc.record({
  pool: fc.integer({ min: 1, max: 3 }),
  users: fc.array(
    fc.record({
      startMs: fc.integer({ min: 0, max: 20 }),
      ending: anEnding,
      steps: steps([...single, { weight: 8, arbitrary: transaction }]),
    }),
    { minLength: 1, maxLength: 5 },
  ),
})

export function throwsOnPurpose(all: readonly OrmStep[]): boolean {
  return all.some(step => 'steps' in step && (step.throws || throwsOnPurpose(step.steps)))
}

export function sayOrmHistory({ pool, users }: OrmHistory): string {
  const lines = [`a pool of ${pool}`]
  const say = (all: readonly OrmStep[], indent: string): void => {
    for (const step of all) {
      if ('steps' in step) {
        lines.push(`${indent}${step.do === 'nested' ? 'nested' : `transaction ${step.how}`} {`)
        say(step.steps, `${indent}  `)
        lines.push(`${indent}}${step.throws ? ' and throw' : ''}`)
      } else lines.push(`${indent}${step.do}${'ms' in step ? ` ${step.ms} ms` : ''}`)
    }
  }
  for (const [index, { startMs, ending, steps: own }] of users.entries()) {
    lines.push(`user ${index + 1} (from ${startMs} ms) ${sayEnding(ending)}:`)
    say(own, '  ')
  }
  return lines.join('\n')
}
