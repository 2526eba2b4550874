/**
 * Random programs for a SQL database: the work of several users of a small pool at once. Pure: a history is data that
 * sql-user.ts runs. Without deadlines every program cleans up: it ends its transactions, resets its settings and
 * releases its locks, whatever fails on purpose. The bare run shows that.
 */
import fc from 'fast-check'
import { anEnding, type Ending, sayEnding } from './ending.ts'

/** How a statement is sent. */
export type How = 'text' | 'prepared' | 'callback'

/** Session state that is acquired and released. Each dialect defines its names. */
export type ScopeName = string

export type Step =
  | { readonly do: 'write'; readonly how: How }
  /** Several writes at once, with `Promise.all`. */
  | { readonly do: 'together'; readonly writes: number }
  | { readonly do: 'read'; readonly how: How }
  /** The database is busy. */
  | { readonly do: 'work'; readonly ms: number }
  /** The app is busy between two statements. */
  | { readonly do: 'think'; readonly ms: number }
  /** A statement that the database rejects. */
  | { readonly do: 'fail' }
  /** Checks that the user still holds its innermost scope or its transaction. */
  | { readonly do: 'look' }
  /** One statement with its own deadline. `caught` continues after it. */
  | { readonly do: 'limited'; readonly ms: number; readonly caught: boolean; readonly step: Step }
  /** Only in a transaction, and gone with it. */
  | { readonly do: 'local'; readonly what: 'setting' | 'lock' }
  | { readonly do: 'scope'; readonly name: ScopeName; readonly acquire: 'before' | 'inside'; readonly steps: Steps }
  | {
      readonly do: 'transaction'
      readonly shape: Shape
      readonly end: 'commit' | 'rollback' | 'throw'
      readonly steps: Steps
    }
  | {
      readonly do: 'savepoint'
      readonly end: 'release' | 'rollback' | 'throw'
      readonly caught: boolean
      readonly steps: Steps
    }

export type Steps = readonly Step[]

/**
 * `textbook`: try, COMMIT, catch, ROLLBACK. `quiet`: an error of the ROLLBACK is ignored. `unwaited`: the ROLLBACK is
 * sent but not awaited. `bare-handed`: no ROLLBACK, so nothing may fail in it. `stubborn`: errors of the steps are
 * ignored and COMMIT is sent anyway.
 */
export type Shape = 'textbook' | 'quiet' | 'unwaited' | 'bare-handed' | 'stubborn'

export interface User {
  /**
   * `pool`: `pool.query()` for each statement. `checkout`: one connection of the pool until the user is done. `lone`:
   * the one client that all such users share, one after the other. `own`: a client that the user opens and ends.
   */
  readonly on: 'pool' | 'checkout' | 'lone' | 'own'
  readonly startMs: number
  readonly ending: Ending
  /** Releases a connection on which something failed with `release(error)`. */
  readonly releasesWithError: boolean
  readonly steps: Steps
}

export interface SqlHistory {
  readonly pool: number
  readonly users: readonly User[]
}

/** Where a scope may be used. `sound`: not in a transaction in which a statement may fail. */
export type ScopePlace = 'anywhere' | 'transaction' | 'sound'
export type Scopes = Readonly<Record<ScopeName, ScopePlace>>

interface Place {
  readonly scopes: Scopes
  readonly on: User['on']
  readonly depth: number
  readonly transaction: 'none' | 'sound' | 'failing'
  readonly held: readonly ScopeName[]
}

const MOST_DEPTH = 3
const ms = fc.integer({ min: 0, max: 20 })
const how = fc.constantFrom<How>('text', 'prepared', 'callback')

const write = how.map<Step>(each => ({ do: 'write', how: each }))
const read = how.map<Step>(each => ({ do: 'read', how: each }))
const work = ms.map<Step>(each => ({ do: 'work', ms: each }))
const think = ms.map<Step>(each => ({ do: 'think', ms: each }))
const look = fc.constant<Step>({ do: 'look' })

function aStep(place: Place): fc.Arbitrary<Step> {
  const { transaction, depth, on } = place
  const single = fc.oneof({ weight: 3, arbitrary: write }, read, { weight: 2, arbitrary: work })
  const choices: fc.WeightedArbitrary<Step>[] = [
    { weight: 6, arbitrary: write },
    { weight: 2, arbitrary: read },
    { weight: 4, arbitrary: work },
    { weight: 4, arbitrary: think },
    { weight: 1, arbitrary: fc.integer({ min: 2, max: 3 }).map<Step>(writes => ({ do: 'together', writes })) },
    {
      weight: 2,
      arbitrary: fc
        .record({
          ms: fc.integer({ min: 1, max: 20 }),
          // The database does not see an error that `within` itself throws. A sound transaction may have no ROLLBACK,
          // so it must catch this error; otherwise the app itself would leave the transaction open.
          caught: transaction === 'sound' ? fc.constant(true) : fc.boolean(),
          step: single,
        })
        .map<Step>(limited => ({ do: 'limited', ...limited })),
    },
  ]
  if (transaction !== 'sound') choices.push({ weight: 1, arbitrary: fc.constant<Step>({ do: 'fail' }) })
  if (on === 'pool') return fc.oneof(...choices)
  if (transaction !== 'none' || place.held.length > 0) choices.push({ weight: 3, arbitrary: look })
  if (transaction !== 'none') {
    choices.push({
      weight: 1,
      arbitrary: fc.constantFrom('setting', 'lock').map<Step>(what => ({ do: 'local', what: what as 'setting' })),
    })
  }
  if (depth >= MOST_DEPTH) return fc.oneof(...choices)
  if (transaction === 'none') choices.push({ weight: 8, arbitrary: aTransaction(place) })
  else choices.push({ weight: 3, arbitrary: aSavepoint(place) })
  const names = Object.keys(place.scopes).filter(name => mayStand(name, place))
  if (names.length > 0) {
    const scope = fc.constantFrom(...names).chain(name => aScope(name, place))
    choices.push({ weight: 5, arbitrary: scope })
  }
  return fc.oneof(...choices)
}

function mayStand(name: ScopeName, { scopes, transaction, held, on }: Place): boolean {
  if (held.includes(name)) return false
  const where = scopes[name]!
  if (where === 'transaction') return transaction !== 'none'
  if (where === 'anywhere' || transaction === 'none') return true
  // No pool cleans up after the user of a lone client.
  return transaction === 'sound' && on === 'checkout'
}

function someSteps(place: Place): fc.Arbitrary<Steps> {
  return fc.array(aStep({ ...place, depth: place.depth + 1 }), { minLength: 1, maxLength: 4 })
}

function aScope(name: ScopeName, place: Place): fc.Arbitrary<Step> {
  return fc
    .record({
      acquire: isAlone(place) ? fc.constant('inside' as const) : fc.constantFrom('before' as const, 'inside' as const),
      steps: someSteps({ ...place, held: [...place.held, name] }),
    })
    .map<Step>(scope => ({ do: 'scope', name, ...scope }))
}

function isAlone({ on }: Place): boolean {
  return on === 'lone' || on === 'own'
}

function aTransaction(place: Place): fc.Arbitrary<Step> {
  const end = fc.constantFrom('commit', 'commit', 'commit', 'rollback', 'throw') as fc.Arbitrary<'commit'>
  const sound = fc.record({
    shape: place.on === 'lone' ? fc.constant<Shape>('textbook') : fc.constantFrom<Shape>('textbook', 'bare-handed'),
    end: fc.constantFrom('commit' as const, 'commit' as const, 'rollback' as const),
    steps: someSteps({ ...place, transaction: 'sound' }),
  })
  const shapes: Shape[] = ['textbook', 'textbook', 'quiet', 'unwaited']
  // Without a rollback the next user of a lone client would find what this user left.
  if (place.on !== 'lone') shapes.push('stubborn')
  const failing = fc.record({
    shape: fc.constantFrom(...shapes),
    end,
    steps: someSteps({ ...place, transaction: 'failing' }),
  })
  return fc.oneof({ weight: 2, arbitrary: failing }, sound).map<Step>(each => ({ do: 'transaction', ...each }))
}

function aSavepoint(place: Place): fc.Arbitrary<Step> {
  return fc
    .record({
      end: fc.constantFrom('release' as const, 'release' as const, 'rollback' as const, 'throw' as const),
      caught: fc.boolean(),
      steps: someSteps(place),
    })
    .map<Step>(each => ({
      do: 'savepoint',
      ...each,
      // A sound transaction may have no ROLLBACK, so its savepoints do not end by throwing an error.
      end: each.end === 'throw' && place.transaction === 'sound' ? 'rollback' : each.end,
    }))
}

function aUser(scopes: Scopes): fc.Arbitrary<User> {
  const on = fc.oneof(
    { weight: 6, arbitrary: fc.constant('checkout' as const) },
    { weight: 2, arbitrary: fc.constant('pool' as const) },
    { weight: 2, arbitrary: fc.constant('lone' as const) },
    { weight: 1, arbitrary: fc.constant('own' as const) },
  )
  return on.chain(each =>
    fc.record({
      on: fc.constant(each),
      startMs: fc.integer({ min: 0, max: 30 }),
      ending: anEnding,
      releasesWithError: fc.boolean(),
      steps: someSteps({ scopes, on: each, depth: 0, transaction: 'none', held: [] }),
    }),
  )
}

export function sqlHistory(scopes: Scopes): fc.Arbitrary<SqlHistory> {
  return fc.record({
    pool: fc.integer({ min: 1, max: 4 }),
    users: fc.array(aUser(scopes), { minLength: 1, maxLength: 5 }),
  })
}

export function anyStep(steps: Steps, holds: (step: Step) => boolean): boolean {
  return steps.some(step => {
    if (holds(step)) return true
    if (step.do === 'limited') return holds(step.step)
    return 'steps' in step && anyStep(step.steps, holds)
  })
}

/** Returns true if a step of the user fails on purpose, also without deadlines. */
export function failsOnPurpose({ steps }: User): boolean {
  return anyStep(steps, step => step.do === 'fail' || ('end' in step && step.end === 'throw'))
}

export function isUnhurried({ ending, steps }: User): boolean {
  return ending.by === 'nothing' && !anyStep(steps, step => step.do === 'limited')
}

export function saySqlHistory({ pool, users }: SqlHistory): string {
  const lines = [`a pool of ${pool}`]
  for (const [index, user] of users.entries()) {
    const where = {
      pool: 'pool.query()',
      checkout: 'a connection of the pool',
      lone: 'the lone client',
      own: 'its own client',
    }
    lines.push(`user ${index + 1} (${where[user.on]}, from ${user.startMs} ms) ${sayEnding(user.ending)}:`)
    if (user.releasesWithError && user.on === 'checkout') lines.push('  (gives the connection back with its error)')
    saySteps(user.steps, 1, lines)
  }
  return lines.join('\n')
}

function saySteps(steps: Steps, depth: number, lines: string[]): void {
  const indent = '  '.repeat(depth)
  const say = (text: string): void => {
    lines.push(indent + text)
  }
  for (const step of steps) {
    switch (step.do) {
      case 'limited':
        say(`within ${step.ms} ms, ${step.caught ? 'errors caught' : 'errors thrown'}:`)
        saySteps([step.step], depth + 1, lines)
        break
      case 'scope':
        say(step.acquire === 'before' ? `${step.name}, then try {` : `try { ${step.name}`)
        saySteps(step.steps, depth + 1, lines)
        say(`} finally { give ${step.name} back }`)
        break
      case 'transaction':
        say(`${step.shape} transaction {`)
        saySteps(step.steps, depth + 1, lines)
        say(`} ${step.end}`)
        break
      case 'savepoint':
        say(`savepoint {`)
        saySteps(step.steps, depth + 1, lines)
        say(`} ${step.end}${step.caught ? ', errors caught' : ''}`)
        break
      default: {
        const { do: name, ...rest } = step
        say([name, ...Object.entries(rest).map(([key, value]) => `${key} ${value}`)].join(' '))
      }
    }
  }
}
