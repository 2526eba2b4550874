/** Random programs for Redis: the work of several users on a shared connection and on private ones. Pure. */
import fc from 'fast-check'
import { anEnding, type Ending, sayEnding } from './ending.ts'

export type RedisStep =
  | { readonly do: 'write'; readonly how: 'command' | 'pipeline' }
  /** Several writes that are there together or not at all: `multi()....exec()`. */
  | { readonly do: 'multi'; readonly writes: number }
  | { readonly do: 'together'; readonly writes: number }
  | { readonly do: 'read' }
  | { readonly do: 'think'; readonly ms: number }
  /** The server is busy with a script, which delays all clients. */
  | { readonly do: 'work'; readonly ms: number }
  | { readonly do: 'fail' }
  | { readonly do: 'limited'; readonly ms: number; readonly caught: boolean; readonly step: RedisStep }
  | { readonly do: 'push'; readonly jobs: number }
  /** Takes a job: `lpop` at once, the others wait for one up to `waitMs`. */
  | { readonly do: 'pop'; readonly how: 'lpop' | 'blpop' | 'brpoplpush' | 'blmove'; readonly waitMs: number }
  /** Waits for a job that never arrives. */
  | { readonly do: 'idle'; readonly ms: number }
  | {
      readonly do: 'scope'
      readonly name: RedisScope
      readonly acquire: 'before' | 'inside'
      readonly steps: RedisSteps
    }
  /** MULTI, commands that answer QUEUED, EXEC; DISCARD in the catch. */
  | { readonly do: 'interactive'; readonly end: 'exec' | 'discard' | 'throw'; readonly steps: RedisSteps }
  /** WATCH, GET, a pause, MULTI SET EXEC; UNWATCH in the finally. */
  | { readonly do: 'increment'; readonly thinkMs: number }

export type RedisScope = 'lock' | 'subscription' | 'database'
export type RedisSteps = readonly RedisStep[]

export interface RedisUser {
  /**
   * `shared`: the connection of all users. `lone`: one connection, lent to one user after the other. `own`: a
   * connection that the user opens and closes.
   */
  readonly on: 'shared' | 'lone' | 'own'
  readonly startMs: number
  readonly ending: Ending
  readonly steps: RedisSteps
}

export interface RedisHistory {
  readonly users: readonly RedisUser[]
}

interface Place {
  readonly on: RedisUser['on']
  readonly depth: number
  readonly queued: boolean
  readonly held: readonly RedisScope[]
}

const MOST_DEPTH = 3
const ms = fc.integer({ min: 0, max: 20 })
const write = fc.constantFrom('command', 'pipeline').map<RedisStep>(how => ({ do: 'write', how: how as 'command' }))
const plainWrite = fc.constant<RedisStep>({ do: 'write', how: 'command' })
const think = ms.map<RedisStep>(each => ({ do: 'think', ms: each }))
const read = fc.constant<RedisStep>({ do: 'read' })
const work = fc.integer({ min: 1, max: 4 }).map<RedisStep>(each => ({ do: 'work', ms: each }))
const fail = fc.constant<RedisStep>({ do: 'fail' })
const waitMs = fc.integer({ min: 10, max: 60 })
const idle = fc.integer({ min: 10, max: 40 }).map<RedisStep>(each => ({ do: 'idle', ms: each }))
const pop = fc
  .record({ how: fc.constantFrom('lpop', 'blpop', 'brpoplpush', 'blmove'), waitMs })
  .map<RedisStep>(each => ({ do: 'pop', how: each.how as 'lpop', waitMs: each.waitMs }))
const push = fc.integer({ min: 1, max: 3 }).map<RedisStep>(jobs => ({ do: 'push', jobs }))

function aStep(place: Place): fc.Arbitrary<RedisStep> {
  // Queued commands are answered with QUEUED, so only writes make sense.
  if (place.queued) return fc.oneof({ weight: 3, arbitrary: plainWrite }, { weight: 2, arbitrary: think })
  const isShared = place.on === 'shared'
  // A subscriber may send nothing else.
  if (place.held.includes('subscription')) return think
  const limited = fc
    .record({
      ms: fc.integer({ min: 1, max: 20 }),
      caught: fc.boolean(),
      step: isShared ? fc.oneof(write, read, work) : fc.oneof(write, read, work, pop, idle),
    })
    .map<RedisStep>(each => ({ do: 'limited', ...each }))
  const choices: fc.WeightedArbitrary<RedisStep>[] = [
    { weight: 5, arbitrary: write },
    { weight: 3, arbitrary: read },
    { weight: 3, arbitrary: think },
    { weight: 1, arbitrary: work },
    { weight: 1, arbitrary: fail },
    { weight: 1, arbitrary: fc.integer({ min: 2, max: 3 }).map<RedisStep>(writes => ({ do: 'multi', writes })) },
    { weight: 1, arbitrary: fc.integer({ min: 2, max: 4 }).map<RedisStep>(writes => ({ do: 'together', writes })) },
    { weight: 3, arbitrary: push },
    { weight: 2, arbitrary: limited },
  ]
  if (!isShared) choices.push({ weight: 5, arbitrary: pop }, { weight: 1, arbitrary: idle })
  if (!isShared) {
    choices.push({ weight: 3, arbitrary: ms.map<RedisStep>(thinkMs => ({ do: 'increment', thinkMs })) })
    choices.push({ weight: 4, arbitrary: interactive(place) })
  }
  const names: RedisScope[] = isShared ? ['lock'] : ['lock', 'subscription', 'database']
  const free = names.filter(name => !place.held.includes(name))
  if (place.depth < MOST_DEPTH && free.length > 0) {
    choices.push({ weight: 4, arbitrary: fc.constantFrom(...free).chain(name => aScope(name, place)) })
  }
  return fc.oneof(...choices)
}

function someSteps(place: Place): fc.Arbitrary<RedisSteps> {
  return fc.array(aStep({ ...place, depth: place.depth + 1 }), { minLength: 1, maxLength: 4 })
}

function aScope(name: RedisScope, place: Place): fc.Arbitrary<RedisStep> {
  return fc
    .record({
      // Nothing resets a Redis connection for its next user, so the user releases everything, whatever the outcome of
      // acquiring it.
      acquire: name === 'lock' ? fc.constantFrom('before' as const, 'inside' as const) : fc.constant('inside' as const),
      steps: someSteps({ ...place, held: [...place.held, name] }),
    })
    .map<RedisStep>(each => ({ do: 'scope', name, ...each }))
}

function interactive(place: Place): fc.Arbitrary<RedisStep> {
  return fc
    .record({
      end: fc.constantFrom('exec' as const, 'exec' as const, 'discard' as const, 'throw' as const),
      steps: someSteps({ ...place, queued: true }),
    })
    .map<RedisStep>(each => ({ do: 'interactive', ...each }))
}

const aUser: fc.Arbitrary<RedisUser> = fc
  .oneof(
    { weight: 3, arbitrary: fc.constant('shared' as const) },
    { weight: 3, arbitrary: fc.constant('lone' as const) },
    { weight: 2, arbitrary: fc.constant('own' as const) },
  )
  .chain(on =>
    fc.record({
      on: fc.constant(on),
      startMs: fc.integer({ min: 0, max: 30 }),
      ending: anEnding,
      steps: someSteps({ on, depth: 0, queued: false, held: [] }),
    }),
  )

export const redisHistory: fc.Arbitrary<RedisHistory> = fc.record({
  users: fc.array(aUser, { minLength: 1, maxLength: 6 }),
})

function anyStep(steps: RedisSteps, holds: (step: RedisStep) => boolean): boolean {
  return steps.some(step => holds(step) || ('steps' in step && anyStep(step.steps, holds)))
}

export function failsOnPurpose({ steps }: RedisUser): boolean {
  return anyStep(steps, step => step.do === 'fail' || (step.do === 'interactive' && step.end === 'throw'))
}

export function isUnhurried({ ending, steps }: RedisUser): boolean {
  return ending.by === 'nothing' && !anyStep(steps, step => step.do === 'limited')
}

const WHERE = { shared: 'the connection of all', lone: 'the connection lent round', own: 'a connection of its own' }

export function sayRedisHistory({ users }: RedisHistory): string {
  const lines: string[] = []
  for (const [index, { on, startMs, ending, steps }] of users.entries()) {
    lines.push(`user ${index + 1} (${WHERE[on]}, from ${startMs} ms) ${sayEnding(ending)}:`)
    saySteps(steps, 1, lines)
  }
  return lines.join('\n')
}

function saySteps(steps: RedisSteps, depth: number, lines: string[]): void {
  const indent = '  '.repeat(depth)
  for (const step of steps) {
    if (step.do === 'limited') {
      lines.push(`${indent}within ${step.ms} ms, ${step.caught ? 'errors caught' : 'errors thrown'}:`)
      saySteps([step.step], depth + 1, lines)
    } else if (step.do === 'scope') {
      lines.push(indent + (step.acquire === 'before' ? `${step.name}, then try {` : `try { ${step.name}`))
      saySteps(step.steps, depth + 1, lines)
      lines.push(`${indent}} finally { give ${step.name} back }`)
    } else if (step.do === 'interactive') {
      lines.push(`${indent}MULTI {`)
      saySteps(step.steps, depth + 1, lines)
      lines.push(`${indent}} ${step.end}`)
    } else {
      const { do: name, ...rest } = step
      lines.push(indent + [name, ...Object.entries(rest).map(([key, value]) => `${key} ${value}`)].join(' '))
    }
  }
}
