/** Whatever a queue from outside does, each request has one end, and what sheds has a reason that is known. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { checkedDiscipline } from '../../src/admission/checked-discipline.ts'
import {
  isShedReason,
  type MakeDiscipline,
  type QueueDiscipline,
  type ShedReason,
} from '../../src/admission/discipline.ts'
import { fixedLimit } from '../../src/admission/limit.ts'
import type { Waiting } from '../../src/admission/queue.ts'
import { standingQueue } from '../../src/admission/standing-queue.ts'

interface Entry extends Waiting {
  readonly id: number
}

type Queue = QueueDiscipline<Entry>
type Shed = (entry: Entry, reason: ShedReason) => void
/** Wrong ways of some of a queue's methods; they may call the right ones. */
type Wrong = (right: Queue, shed: Shed) => object

/** An honest queue, first come first served, with some ways changed. */
function queueWith(wrong: Wrong): MakeDiscipline<Entry> {
  return ({ shed }) => {
    const waiting: Entry[] = []
    const right: Queue = {
      get size() {
        return waiting.length
      },
      standing: false,
      push(entry) {
        waiting.push(entry)
        return 'wait'
      },
      refuses: () => undefined,
      next: () => waiting.shift(),
      remove(entry) {
        const at = waiting.indexOf(entry)
        if (at >= 0) waiting.splice(at, 1)
        return at >= 0
      },
      departed: () => undefined,
      expire: () => undefined,
      dueInMs: () => (waiting.length > 0 ? 50 : Number.POSITIVE_INFINITY),
    }
    const changed = Object.create(right, Object.getOwnPropertyDescriptors(wrong(right, shed))) as Queue
    return changed
  }
}

/** The checked queue, with what came of every request written down. */
function checked(make: MakeDiscipline<Entry>) {
  const ends: [id: number, how: string][] = []
  const notes: string[] = []
  const shed: Shed = ({ id }, reason) => ends.push([id, reason])
  const queue = checkedDiscipline(make, standingQueue<Entry>(), note => notes.push(note))({ law: fixedLimit(1), shed })
  const entries: Entry[] = []
  return {
    queue,
    ends,
    notes,
    entries,
    push(nowMs = 0): Entry {
      const entry: Entry = { id: entries.length, arrivedAt: nowMs, left: false }
      entries.push(entry)
      const decision = queue.push(entry, nowMs)
      if (decision !== 'wait') ends.push([entry.id, decision])
      return entry
    },
    next(nowMs = 0): number | undefined {
      const entry = queue.next(nowMs)
      if (entry !== undefined) ends.push([entry.id, 'started'])
      return entry?.id
    },
  }
}

const boom = (): never => {
  throw new Error('boom')
}
const later = async (): Promise<never> => boom()
const hostile = new Proxy({}, { get: boom, has: boom, getPrototypeOf: boom }) as never

/** A rejection that nobody catches fails the test. */
const noticed = (): Promise<void> => new Promise(resolve => setImmediate(resolve))

test('a queue that keeps its word is asked for everything', () => {
  const world = checked(queueWith(right => ({ next: () => right.next(0) })))
  for (let i = 0; i < 4; i++) world.push()
  assert.equal(world.queue.remove(world.entries[1]!, 0), true)
  assert.equal(world.queue.remove(world.entries[1]!, 0), false)
  world.queue.departed(1)
  world.queue.expire(1)
  assert.deepEqual([world.next(), world.next(), world.next(), world.next()], [0, 2, 3, undefined])
  assert.equal(world.queue.dueInMs(1), Number.POSITIVE_INFINITY)
  assert.deepEqual(world.notes, [])
})

describe('ours takes over, which is said once, and nobody is lost', () => {
  const cases: Readonly<Record<string, readonly [Wrong, RegExp]>> = {
    'push throws': [() => ({ push: boom }), /push\(\) threw Error: boom/],
    'push forgets to answer': [
      right => ({ push: (e: Entry) => void right.push(e, 0) }),
      /push\(\) must .*got undefined/,
    ],
    'push is async': [right => ({ push: async (e: Entry) => right.push(e, 0) }), /push\(\) must .*got a promise/],
    'push is async and rejects': [() => ({ push: later }), /push\(\) must .*got a promise/],
    'push answers what is no reason': [() => ({ push: () => 'constructor' }), /push\(\) must .*got 'constructor'/],
    'push answers what throws': [() => ({ push: () => hostile }), /push\(\) must .*got an object/],
    'push does not keep whom it lets wait': [() => ({ push: () => 'wait' }), /size must be how many wait, 1; got 0/],
    'push keeps whom it sheds': [
      right => ({ push: (e: Entry) => right.push(e, 0) === 'wait' && (right.size === 1 ? 'wait' : 'full') }),
      /size must be how many wait, 1; got 2/,
    ],
    'next throws': [() => ({ next: boom }), /next\(\) threw/],
    'next is async': [right => ({ next: async () => right.next(0) }), /next\(\) must .*got a promise/],
    'next answers who never came': [() => ({ next: () => ({ id: 9, place: 0 }) }), /next\(\) must .*got an object/],
    'next answers what throws': [() => ({ next: () => hostile }), /next\(\) must .*got an object/],
    'next leaves whom it answers': [
      right => ({
        next: () => {
          const entry = right.next(0)!
          right.push(entry, 0)
          return entry
        },
      }),
      /size must be how many wait/,
    ],
    'next answers nobody while some wait': [() => ({ next: () => undefined }), /next\(\) must .*got undefined/],
    'remove throws': [() => ({ remove: boom }), /remove\(\) threw/],
    'remove answers nothing': [right => ({ remove: (e: Entry) => void right.remove(e, 0) }), /remove\(\) must/],
    'remove does nothing': [() => ({ remove: () => true }), /size must be how many wait/],
    'remove is async': [right => ({ remove: async (e: Entry) => right.remove(e, 0) }), /remove\(\) must .*a promise/],
    'refuses throws': [() => ({ refuses: boom }), /refuses\(\) threw/],
    'refuses is async': [() => ({ refuses: later }), /refuses\(\) must .*got a promise/],
    'refuses answers null': [() => ({ refuses: () => null }), /refuses\(\) must .*got null/],
    'refused is no function': [() => ({ refused: 5 }), /refused\(\) threw TypeError/],
    'departed throws': [() => ({ departed: boom }), /departed\(\) threw/],
    'expire throws': [() => ({ expire: boom }), /expire\(\) threw/],
    'dueInMs answers no number': [() => ({ dueInMs: () => Number.NaN }), /dueInMs\(\) must .*got NaN/],
    'dueInMs is async': [() => ({ dueInMs: later }), /dueInMs\(\) must .*got a promise/],
    'there is no size': [() => ({ size: undefined }), /size must be .*got undefined/],
    'size is no number': [() => ({ size: 'three' }), /size must be .*got 'three'/],
    'size throws': [
      () => ({
        get size(): number {
          return boom()
        },
      }),
      /size\(\) threw Error: boom/,
    ],
    'size is a promise': [
      () => ({
        get size() {
          return later()
        },
      }),
      /size must be .*got a promise/,
    ],
    'it sheds one twice': [
      (right, shed) => ({
        expire: () => {
          const entry = right.next(0)!
          shed(entry, 'stale')
          shed(entry, 'stale')
        },
      }),
      /shed\(\) must be given one who waits, once/,
    ],
    'it sheds one who comes, and lets him wait': [
      (right, shed) => ({
        push: (entry: Entry) => {
          shed(entry, 'late')
          return right.push(entry, 0)
        },
      }),
      /shed\(\) must be given one who waits/,
    ],
    'it sheds for what is no reason': [
      (right, shed) => ({ expire: () => shed(right.next(0)!, 'toString' as never) }),
      /shed\(\) must be given a reason/,
    ],
    'it sheds what throws': [(_, shed) => ({ expire: () => shed(hostile, 'late') }), /shed\(\) must be given one/],
  }
  for (const [what, [wrong, complaint]] of Object.entries(cases)) {
    test(what, async () => {
      const world = checked(queueWith(wrong))
      const first = world.push()
      for (let i = 0; i < 3; i++) world.push()
      world.queue.refuses(0)
      world.queue.refused?.(0, 0)
      world.queue.departed(0)
      world.queue.expire(0)
      world.queue.dueInMs(0)
      if (world.queue.remove(first, 0)) world.ends.push([first.id, 'left'])
      while (world.next() !== undefined);
      await noticed()
      assert.equal(world.notes.length, 1)
      assert.match(world.notes[0]!, complaint)
      assert.match(world.notes[0]!, /^meltproof's own queue has taken over/)
      assert.deepEqual(world.ends.map(([id]) => id).sort(), [0, 1, 2, 3])
      assert.equal(world.queue.size, 0)
      // Ours, from now on: the next ones wait and start in order.
      for (let i = 0; i < 2; i++) world.push()
      assert.deepEqual([world.next(), world.next(), world.next()], [4, 5, undefined])
    })
  }
})

test('an answer that is not needed may be a promise; that it rejected is said once', async () => {
  const world = checked(queueWith(() => ({ departed: later, expire: later, refused: async () => undefined })))
  world.push()
  for (let i = 0; i < 3; i++) {
    world.queue.departed(0)
    world.queue.expire(0)
    world.queue.refused?.(0, 0)
  }
  await noticed()
  assert.equal(world.notes.length, 1)
  assert.match(world.notes[0]!, /departed\(\) rejected with Error: boom/)
  assert.equal(world.next(), 0)
})

test('it may shed from a timer of its own, but not after ours has taken over', () => {
  let shedLater: Shed = () => undefined
  const world = checked(
    queueWith((right, shed) => {
      shedLater = (entry, reason) => {
        right.remove(entry, 0)
        shed(entry, reason)
      }
      return {}
    }),
  )
  for (let i = 0; i < 4; i++) world.push(i)
  shedLater(world.entries[0]!, 'late')
  assert.deepEqual(world.ends, [[0, 'late']])
  shedLater(world.entries[0]!, 'late')
  assert.equal(world.notes.length, 1)
  shedLater(world.entries[1]!, 'late')
  assert.deepEqual(world.ends, [[0, 'late']])
  assert.deepEqual([world.next(), world.next(), world.next(), world.next()], [1, 2, 3, undefined])
})

test('it is asked again soon enough, and by a timer that can be set', () => {
  for (const [answer, dueMs] of [
    [-5, 1],
    [Number.NEGATIVE_INFINITY, 1],
    [7.5, 7.5],
    [1e12, 2 ** 31 - 1],
    [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY],
  ]) {
    const world = checked(queueWith(() => ({ dueInMs: () => answer })))
    world.push()
    assert.equal(world.queue.dueInMs(0), dueMs)
    assert.deepEqual(world.notes, [])
  }
})

test('under any sequence of calls and misdeeds every request has exactly one end', async () => {
  const METHODS = ['push', 'refuses', 'refused', 'next', 'remove', 'departed', 'expire', 'dueInMs'] as const
  const misdeeds = ['throw', 'promise', 'odd', 'keep', 'drop', 'shed twice', 'shed odd', 'shed from nowhere'] as const
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ call: fc.constantFrom(...METHODS), which: fc.nat(20), by: fc.nat(30) }), { maxLength: 60 }),
      fc.array(fc.record({ at: fc.nat(40), deed: fc.constantFrom(...misdeeds) }), { maxLength: 4 }),
      async (calls, deeds) => {
        let count = 0
        const world = checked(
          queueWith((right, shed) =>
            Object.fromEntries(
              METHODS.map(method => [
                method,
                (...args: unknown[]) => {
                  const act = (): unknown => (right[method] as ((...a: unknown[]) => unknown) | undefined)?.(...args)
                  const deed = deeds.find(({ at }) => at === count)?.deed
                  count++
                  const any = world.entries[count % Math.max(1, world.entries.length)]
                  switch (deed) {
                    case undefined:
                      return act()
                    case 'throw':
                      return boom()
                    case 'promise':
                      return later()
                    case 'odd':
                      act()
                      return 'banana'
                    case 'keep':
                      return method === 'push' && act() === 'wait' ? 'full' : any
                    case 'drop':
                      right.next(0)
                      return act()
                    default:
                      if (any !== undefined) {
                        if (deed !== 'shed from nowhere') right.remove(any, 0)
                        shed(any, deed === 'shed odd' ? ('odd' as never) : 'late')
                        if (deed === 'shed twice') shed(any, 'late')
                      }
                      return act()
                  }
                },
              ]),
            ),
          ),
        )
        let now = 0
        for (const { call, which, by } of calls) {
          now += by
          const entry = world.entries[which % Math.max(1, world.entries.length)]
          if (call === 'push') world.push(now)
          else if (call === 'next') world.next(now)
          else if (call === 'remove') {
            const ended = (): boolean => world.ends.some(([id]) => id === entry?.id)
            if (entry !== undefined && !ended()) {
              // Shed while it was to leave, it has an end already.
              const removed = world.queue.remove(entry, now)
              assert.equal(removed, !ended())
              if (removed) world.ends.push([entry.id, 'left'])
            }
          } else if (call === 'refused') world.queue.refused?.(now, 0)
          else if (call === 'refuses') assert.ok([undefined, 'standing'].includes(world.queue.refuses(now)))
          else if (call === 'dueInMs') assert.ok(world.queue.dueInMs(now) > 0)
          else world.queue[call](now)
          assert.equal(world.queue.size, world.entries.length - world.ends.length)
        }
        while (world.next(now) !== undefined);
        await noticed()
        assert.ok(world.notes.length <= 2)
        assert.equal(world.queue.size, 0)
        assert.deepEqual(
          world.ends.map(([id]) => id).sort((a, b) => a - b),
          world.entries.map(({ id }) => id),
        )
        for (const [, how] of world.ends) assert.ok(how === 'started' || how === 'left' || isShedReason(how), how)
      },
    ),
    { numRuns: 500 },
  )
})
