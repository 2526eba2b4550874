/** limiter(): which runs start, wait or are shed, and when a permit is released. */
import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { getEventListeners } from 'node:events'
import { after, describe, it } from 'node:test'
import { runWithBudget } from '../../src/deadline/context.ts'
import { remaining, within } from '../../src/deadline/index.ts'
import { isMeltproofError } from '../../src/errors.ts'
import { type Limiter, limiter, ShedError } from '../../src/limiter/index.ts'
import { WatchedBudget } from '../deadline/watched-budget.ts'

/** meltproof keeps no process alive, and neither does the work of these tests. */
const alive = setInterval(() => undefined, 1000)
after(() => clearInterval(alive))

/** Work that ends when the test decides. */
class Held {
  readonly started: string[] = []
  readonly #ends = new Map<string, PromiseWithResolvers<string>>()

  readonly work = (name: string) => (): Promise<string> => {
    this.started.push(name)
    const end = Promise.withResolvers<string>()
    this.#ends.set(name, end)
    return end.promise
  }

  end(name: string): void {
    this.#ends.get(name)!.resolve(name)
  }

  fail(name: string, error: Error): void {
    this.#ends.get(name)!.reject(error)
  }
}

/** Resolves after everything due at the end of this turn has happened. */
async function turns(): Promise<void> {
  for (let i = 0; i < 3; i++) await new Promise(resolve => setImmediate(resolve))
}

const figures = (one: Limiter): number[] => {
  const { inflight, queued, admitted } = one.stats()
  return [inflight, queued, admitted]
}

const shedWith = (reason: string) => (error: unknown) => {
  assert.ok(error instanceof ShedError && isMeltproofError(error))
  assert.deepEqual([error.code, error.statusCode, error.reason], ['MELTPROOF_SHED', 503, reason])
  assert.ok(error.retryAfterMs >= 1000 && error.retryAfterMs <= 5000)
  assert.ok(error.waitedMs >= 0)
  return true
}

describe('run()', () => {
  it('starts at once with a free permit, and settles as the function does', async () => {
    const jobs = limiter()
    const failure = new Error('theirs')
    assert.equal(await jobs.run(() => 7), 7)
    assert.equal(await jobs.run(async () => 'later'), 'later')
    assert.deepEqual(await jobs.run(() => ({ plain: true })), { plain: true })
    await assert.rejects(
      jobs.run(() => {
        throw failure
      }),
      failure,
    )
    await assert.rejects(
      jobs.run(() => Promise.reject(failure)),
      failure,
    )
    assert.deepEqual(figures(jobs), [0, 0, 5])
    assert.match(jobs.explain(), /^Nothing was shed\. (?:At most \d+ may be in service: |Concurrency is not limited)/)
  })

  it('calls the function synchronously if a permit is free', () => {
    const calls: number[] = []
    void limiter().run(() => calls.push(1))
    assert.deepEqual(calls, [1])
  })

  it('queues runs without a permit, and starts them in order of arrival', async () => {
    const jobs = limiter({ limit: 2 })
    const held = new Held()
    const all = ['a', 'b', 'c', 'd'].map(name => jobs.run(held.work(name)))
    await turns()
    assert.deepEqual(held.started, ['a', 'b'])
    assert.deepEqual(figures(jobs), [2, 2, 2])
    assert.ok(jobs.pressure() > 0)
    held.end('b')
    await turns()
    assert.deepEqual(held.started, ['a', 'b', 'c'])
    held.fail('a', new Error('broken'))
    await assert.rejects(all[0]!, /broken/)
    await turns()
    assert.deepEqual(held.started, ['a', 'b', 'c', 'd'])
    held.end('c')
    held.end('d')
    assert.deepEqual(await Promise.all(all.slice(1)), ['b', 'c', 'd'])
    assert.deepEqual(figures(jobs), [0, 0, 4])
  })

  it('runs a queued function in the async context of its caller', async () => {
    const storage = new AsyncLocalStorage<string>()
    const jobs = limiter({ limit: 1 })
    const held = new Held()
    const first = jobs.run(held.work('first'))
    const second = storage.run('mine', () => jobs.run(() => storage.getStore()))
    held.end('first')
    await first
    assert.equal(await second, 'mine')
  })

  it('needs no second permit within a run of the same limiter', async () => {
    const jobs = limiter({ limit: 1 })
    const other = limiter({ limit: 1 })
    const nested = jobs.run(() => other.run(() => jobs.run(async () => jobs.stats().inflight)))
    assert.equal(await nested, 1)
    assert.deepEqual(figures(jobs), [0, 0, 1])
  })

  it('needs a permit after the surrounding run has ended, even in its async context', async () => {
    const jobs = limiter({ limit: 1 })
    const held = new Held()
    let later: (() => Promise<string>) | undefined
    await jobs.run(() => {
      later = AsyncLocalStorage.bind(() => jobs.run(held.work('later')))
    })
    const holds = jobs.run(held.work('holds'))
    await turns()
    const waits = later!()
    assert.deepEqual(figures(jobs), [1, 1, 2])
    held.end('holds')
    await holds
    await turns()
    held.end('later')
    assert.equal(await waits, 'later')
  })

  it('needs no permit in an ended run that is nested in a running one', async () => {
    const jobs = limiter({ limit: 1, sheds: false })
    const outer = jobs.run(async () => {
      const { promise: inner, resolve } = Promise.withResolvers<void>()
      let later: Promise<string> | undefined
      await jobs.run(() => {
        later = inner.then(() => jobs.run(() => 'later'))
      })
      resolve()
      return later
    })
    await turns()
    assert.deepEqual(figures(jobs), [0, 0, 1])
    assert.equal(await outer, 'later')
  })

  it('sheds a run that waits too long, and explains why, unless sheds is false', async () => {
    const jobs = limiter({ limit: 1 })
    const patient = limiter({ limit: 1, sheds: false })
    const held = new Held()
    void jobs.run(held.work('hangs'))
    void patient.run(held.work('hangs too'))
    const waits = patient.run(held.work('waits'))
    await assert.rejects(jobs.run(held.work('never')), shedWith('late'))
    assert.equal(jobs.stats().shed.late, 1)
    assert.match(
      jobs.explain(),
      /^The last run that was shed, .* \(in service: 1 of at most 1; waiting: 0\)\. At most 1 may be in service: the app set this limit\.$/,
    )
    assert.ok(jobs.pressure() > 0)
    assert.deepEqual(figures(patient), [1, 1, 1], 'one that does not shed lets wait')
    held.end('hangs too')
    await turns()
    held.end('waits')
    assert.equal(await waits, 'waits')
    assert.deepEqual(held.started, ['hangs', 'hangs too', 'waits'])
  })

  it('starts more critical runs first', async () => {
    const jobs = limiter({ limit: 1, sheds: false })
    const held = new Held()
    const first = jobs.run(held.work('first'))
    const all = [
      jobs.run(async () => void held.started.push('sheddable'), { criticality: 'sheddable' }),
      jobs.run(async () => void held.started.push('plain')),
      jobs.run(async () => void held.started.push('plus'), {
        criticality: { criticality: 'critical_plus', key: 'u1' },
      }),
    ]
    held.end('first')
    await first
    await Promise.all(all)
    assert.deepEqual(held.started, ['first', 'plus', 'plain', 'sheddable'])
  })

  it('lets the lowest class advance with sheds: false, however much of the best arrives', async () => {
    const jobs = limiter({ limit: 1, sheds: false })
    const done = { critical_plus: 0, sheddable: 0 }
    let pulled = 0
    const slot = async (): Promise<void> => {
      while (pulled < 400) {
        const criticality = ++pulled % 4 === 0 ? 'sheddable' : 'critical_plus'
        await jobs.run(turns, { criticality })
        if (pulled < 400) done[criticality]++
      }
    }
    await Promise.all(Array.from({ length: 8 }, slot))
    assert.ok(done.sheddable >= 90 && done.critical_plus >= 280, JSON.stringify(done))
  })

  it('rejects invalid arguments and options', async () => {
    const jobs = limiter()
    const invalid = (code: string, message: RegExp) => (error: unknown) =>
      isMeltproofError(error) && error.code === code && message.test(error.message)
    const run = jobs.run as (fn: unknown, options?: unknown) => Promise<unknown>
    const known = 'MELTPROOF_OPTION_INVALID'
    await assert.rejects(run('x'), invalid(known, /run\(fn\): fn must be a function; got 'x'/))
    await assert.rejects(
      run(() => 1, { criticality: 'vital' }),
      invalid(known, /criticality must be one of/),
    )
    await assert.rejects(
      run(() => 1, { signal: 1 }),
      invalid(known, /signal must be an AbortSignal; got 1/),
    )
    await assert.rejects(
      run(() => 1, { criticalty: 'critical' }),
      invalid('MELTPROOF_OPTION_UNKNOWN', /Did you mean 'criticality'/),
    )
    assert.throws(() => limiter({ limit: 0 }), /limit must be a whole number from 1/)
    assert.throws(() => limiter({ shed: false } as object), /Did you mean 'sheds'/)
    assert.throws(() => limiter({ name: '' }), /name must be a string of 1 to 100 characters/)
    assert.deepEqual(figures(jobs), [0, 0, 0])
  })
})

describe('a run that its caller has given up', () => {
  it('is not started if it waited', async () => {
    const jobs = limiter({ limit: 1 })
    const held = new Held()
    const leaving = new AbortController()
    const first = jobs.run(held.work('first'))
    const second = jobs.run(held.work('second'), { signal: leaving.signal })
    leaving.abort(new Error('gone'))
    await assert.rejects(second, /gone/)
    assert.deepEqual(figures(jobs), [1, 0, 1])
    held.end('first')
    await first
    await turns()
    assert.deepEqual(held.started, ['first'])
    await assert.rejects(jobs.run(held.work('third'), { signal: leaving.signal }), /gone/)
    assert.deepEqual(held.started, ['first'])
  })

  it('keeps its permit until it settles if it has begun', async () => {
    const jobs = limiter({ limit: 2 })
    const held = new Held()
    const leaving = new AbortController()
    const run = jobs.run(held.work('works on'), { signal: leaving.signal })
    leaving.abort(new Error('gone'))
    await assert.rejects(run, /gone/)
    assert.deepEqual([jobs.stats().inflight, jobs.stats().abandoned], [1, 1])
    held.end('works on')
    await turns()
    assert.deepEqual([jobs.stats().inflight, jobs.stats().abandoned], [0, 0])
  })

  it('counts neither as in flight nor as abandoned once it seems never to settle', async () => {
    const jobs = limiter({ limit: 1 })
    const gone = new AbortController()
    const hung = jobs.run(() => new Promise(() => undefined), { signal: gone.signal })
    gone.abort()
    await assert.rejects(hung)
    await new Promise(resolve => setTimeout(resolve, 600))
    const { inflight, abandoned } = jobs.stats()
    assert.deepEqual([inflight, abandoned], [0, 0])
  })
})

/** One run that holds the only permit, and one that waits for it. */
interface Waiting {
  readonly jobs: Limiter
  readonly held: Held
  readonly leaving: AbortController
  readonly deadline: WatchedBudget
}

describe('a run removes its listeners from signal and deadline when it is', () => {
  const listening = ({ leaving, deadline }: Waiting): number[] => [
    getEventListeners(leaving.signal, 'abort').length,
    deadline.listeners.size,
  ]

  function watched(limit: number): Waiting & { readonly run: Promise<string> } {
    const jobs = limiter({ limit })
    const held = new Held()
    void jobs.run(held.work('first'))
    const leaving = new AbortController()
    const deadline = new WatchedBudget(60_000)
    const { signal } = leaving
    const run = runWithBudget(deadline, () => jobs.run(held.work('it'), { signal }))
    return { jobs, held, leaving, deadline, run }
  }

  const gone = new Error('gone')
  const ways: readonly (readonly [string, number, (waiting: Waiting) => void, RegExp | undefined])[] = [
    ['settled', 2, ({ held }) => held.end('it'), undefined],
    ['failed', 2, ({ held }) => held.fail('it', gone), /gone/],
    ['given up by its signal while it works', 2, ({ leaving }) => leaving.abort(gone), /gone/],
    ['given up by its deadline while it works', 2, ({ deadline }) => deadline.cancel(gone), /gone/],
    ['given up by its signal while it waits', 1, ({ leaving }) => leaving.abort(gone), /gone/],
    ['given up by its deadline while it waits', 1, ({ deadline }) => deadline.cancel(gone), /gone/],
    ['shed', 1, ({ jobs }) => void jobs.drain(0), /Shed/],
  ]
  for (const [how, limit, end, error] of ways) {
    it(how, async () => {
      const waiting = watched(limit)
      // On a busy machine the turn's budget may be spent before the second run.
      await turns()
      assert.deepEqual(listening(waiting), [1, 1])
      end(waiting)
      if (error === undefined) assert.equal(await waiting.run, 'it')
      else await assert.rejects(waiting.run, error)
      assert.deepEqual(listening(waiting), [0, 0])
      waiting.deadline.settle()
    })
  }

  it('settled after it has waited', async () => {
    const { run, ...waiting } = watched(1)
    waiting.held.end('first')
    await turns()
    assert.deepEqual(listening(waiting), [1, 1])
    waiting.held.end('it')
    assert.equal(await run, 'it')
    assert.deepEqual(listening(waiting), [0, 0])
    waiting.deadline.settle()
  })
})

describe('a run under a deadline', () => {
  it('sees the budget of its caller', async () => {
    const jobs = limiter()
    const left = await within(60_000, () => jobs.run(() => remaining()))
    assert.ok(left > 50_000 && left <= 60_000)
  })

  it('is shed or rejected if it cannot start in time', async () => {
    const jobs = limiter({ limit: 1, sheds: false })
    const held = new Held()
    void jobs.run(held.work('hangs'))
    const error = await within(30, () => jobs.run(held.work('late'))).catch(reason => reason)
    await turns()
    assert.ok(isMeltproofError(error))
    assert.ok(['MELTPROOF_SHED', 'MELTPROOF_DEADLINE_EXCEEDED'].includes(error.code))
    assert.deepEqual(figures(jobs), [1, 0, 1])
    assert.deepEqual(held.started, ['hangs'])
  })

  it('is not started after the deadline', async () => {
    const jobs = limiter()
    const calls: string[] = []
    await assert.rejects(
      within(20, async signal => {
        await new Promise(resolve => signal.addEventListener('abort', resolve))
        calls.push('inner')
        await jobs.run(() => calls.push('work')).catch(error => calls.push(error.code))
      }),
    )
    await turns()
    assert.deepEqual(calls, ['inner', 'MELTPROOF_DEADLINE_EXCEEDED'])
  })

  it('keeps its permit if the deadline passes while it works', async () => {
    const jobs = limiter()
    const held = new Held()
    await assert.rejects(
      within(20, () => jobs.run(held.work('works on'))),
      { code: 'MELTPROOF_DEADLINE_EXCEEDED' },
    )
    assert.equal(jobs.stats().inflight, 1)
    held.end('works on')
    await turns()
    assert.equal(jobs.stats().inflight, 0)
  })
})

describe('drain()', () => {
  it('rejects new runs, and waits for those in progress and queued', async () => {
    const jobs = limiter({ limit: 1 })
    const held = new Held()
    const first = jobs.run(async () => {
      await held.work('first')()
      return jobs.run(() => 'nested')
    })
    const second = jobs.run(held.work('second'))
    const drained = jobs.drain(60_000)
    assert.equal(jobs.drain(1), drained)
    assert.equal(jobs.stats().draining, true)
    await assert.rejects(jobs.run(held.work('new')), shedWith('closing'))
    held.end('first')
    assert.equal(await first, 'nested')
    await turns()
    held.end('second')
    assert.equal(await second, 'second')
    assert.equal(await drained, true)
  })

  it('resolves at once if nothing runs', async () => {
    assert.equal(await limiter().drain(), true)
  })

  it('sheds queued runs after the timeout, and leaves running ones alone', async () => {
    const jobs = limiter({ limit: 1 })
    const held = new Held()
    const first = jobs.run(held.work('first'))
    const second = jobs.run(held.work('second'))
    const shed = assert.rejects(second, shedWith('closing'))
    assert.equal(await jobs.drain(0), false)
    await shed
    held.end('first')
    assert.equal(await first, 'first')
    assert.throws(() => limiter().drain(-1), /drain\(timeoutMs\)/)
  })
})

describe('close()', () => {
  it('starts queued runs and all later ones at once', async () => {
    const jobs = limiter({ limit: 1 })
    const held = new Held()
    const all = ['a', 'b', 'c'].map(name => jobs.run(held.work(name)))
    jobs.close()
    assert.deepEqual(held.started, ['a', 'b', 'c'])
    assert.deepEqual(figures(jobs), [1, 0, 1])
    all.push(jobs.run(held.work('d')))
    for (const name of ['a', 'b', 'c', 'd']) held.end(name)
    assert.deepEqual(await Promise.all(all), ['a', 'b', 'c', 'd'])
  })

  it('starts each queued run once', async () => {
    const jobs = limiter({ limit: 2 })
    const held = new Held()
    const all = ['a', 'b', 'c', 'd', 'e'].map(name => jobs.run(held.work(name)))
    await turns()
    held.end('b')
    await turns()
    assert.deepEqual(held.started, ['a', 'b', 'c'])
    jobs.close()
    assert.deepEqual(held.started, ['a', 'b', 'c', 'd', 'e'])
    for (const name of ['a', 'c', 'd', 'e']) held.end(name)
    await Promise.all(all)
    assert.deepEqual(figures(jobs).slice(0, 1), [0])
  })

  it('starts all queued runs even if starting one aborts another', async () => {
    const jobs = limiter({ limit: 1 })
    const held = new Held()
    const leaving = new AbortController()
    void jobs.run(held.work('a'))
    void jobs.run(() => leaving.abort(new Error('gone')))
    const gone = jobs.run(held.work('c'), { signal: leaving.signal })
    void jobs.run(held.work('d'))
    jobs.close()
    await assert.rejects(gone, /gone/)
    assert.deepEqual(held.started, ['a', 'd'])
  })
})

it('functions that compute are spread over several turns of the loop', async () => {
  const jobs = limiter()
  const startedIn: number[] = []
  let turn = 0
  const counting = setImmediate(function count() {
    turn++
    if (turn < 1000) setImmediate(count)
  })
  const all = Array.from({ length: 12 }, () =>
    jobs.run(() => {
      startedIn.push(turn)
      const until = performance.now() + 4
      while (performance.now() < until);
    }),
  )
  assert.ok(jobs.stats().queued > 0)
  await Promise.all(all)
  clearImmediate(counting)
  assert.ok(new Set(startedIn).size >= 3, `turns ${startedIn}`)
})
