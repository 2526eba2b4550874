/** One suite for the real toobusy-js and for ours: what holds for the one must hold for the other. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, mock, test } from 'node:test'
import fc from 'fast-check'
import { isMeltproofError } from '../../src/errors.ts'
import type { TooBusy } from '../../src/toobusy.ts'
import { FakeLoop } from './fake-loop.ts'
import { IMPLEMENTATIONS } from './implementations.ts'

for (const { name, load } of IMPLEMENTATIONS) {
  describe(name, () => {
    let loop: FakeLoop
    let toobusy: TooBusy

    beforeEach(async () => {
      loop = new FakeLoop()
      toobusy = await load()
    })
    afterEach(() => {
      toobusy.shutdown()
      loop.restore()
      mock.restoreAll()
    })

    test('is a function with seven properties, and is started', () => {
      assert.equal(typeof toobusy, 'function')
      assert.deepEqual(Object.keys(toobusy).sort(), [
        'interval',
        'lag',
        'maxLag',
        'onLag',
        'shutdown',
        'smoothingFactor',
        'started',
      ])
      assert.equal(toobusy.started(), true)
    })

    test('has functions with the original names and lengths, and can be constructed', () => {
      assert.equal(toobusy.name, 'toobusy')
      assert.equal(toobusy.length, 0)
      const lengths = { interval: 1, lag: 0, maxLag: 1, smoothingFactor: 1, shutdown: 0, started: 0, onLag: 2 }
      assert.deepEqual(Object.keys(toobusy), Object.keys(lengths))
      for (const [name, length] of Object.entries(lengths)) {
        const each = toobusy[name as keyof TooBusy] as (...args: never[]) => unknown
        assert.deepEqual([each.name, each.length], ['', length])
      }
      assert.equal(typeof new (toobusy as unknown as new () => object)(), 'object')
    })

    test('has the defaults of toobusy-js', () => {
      assert.equal(toobusy(), false)
      assert.equal(toobusy.lag(), 0)
      assert.equal(toobusy.maxLag(), 70)
      assert.equal(toobusy.interval(), 500)
      assert.equal(toobusy.smoothingFactor(), 1 / 3)
    })

    test('sets and returns settings, and only returns them for a falsy argument', () => {
      assert.equal(toobusy.maxLag(50.4), 50)
      assert.equal(toobusy.maxLag(9.5), 10)
      assert.equal(toobusy.interval(15.5), 16)
      assert.equal(toobusy.interval(300), 300)
      assert.equal(toobusy.smoothingFactor(1), 1)
      assert.equal(toobusy.smoothingFactor(0.05), 0.05)
      for (const nothing of [undefined, 0, Number.NaN, null, '', false] as (number | undefined)[]) {
        assert.equal(toobusy.maxLag(nothing), 10)
        assert.equal(toobusy.interval(nothing), 300)
        assert.equal(toobusy.smoothingFactor(nothing), 0.05)
      }
    })

    const WRONG: readonly [keyof TooBusy & ('maxLag' | 'interval' | 'smoothingFactor'), unknown, string][] = [
      ['maxLag', 'derp', 'MaxLag must be a number.'],
      ['maxLag', {}, 'MaxLag must be a number.'],
      ['maxLag', 9, 'Maximum lag should be greater than 10ms.'],
      ['maxLag', -1, 'Maximum lag should be greater than 10ms.'],
      ['interval', '500', 'Interval must be a number.'],
      ['interval', 15, 'Interval should be greater than 16ms.'],
      ['smoothingFactor', true, 'NewFactor must be a number.'],
      ['smoothingFactor', 1.1, 'Smoothing factor should be in range ]0,1].'],
      ['smoothingFactor', -0.1, 'Smoothing factor should be in range ]0,1].'],
    ]
    for (const [setting, value, message] of WRONG) {
      test(`${setting}(${JSON.stringify(value)}): ${message}`, () => {
        const before = toobusy[setting]()
        assert.throws(
          () => toobusy[setting](value as number),
          (error: Error) => {
            assert.equal(Object.getPrototypeOf(error), Error.prototype)
            assert.equal(String(error), `Error: ${message}`)
            assert.equal(error.name, 'Error')
            return error.message === message
          },
        )
        assert.equal(toobusy[setting](), before)
        assert.equal(toobusy.started(), true)
      })
    }

    test('rejects a listener that is no function with a TypeError', () => {
      assert.throws(() => toobusy.onLag('derp' as never), { name: 'TypeError', code: 'ERR_INVALID_ARG_TYPE' })
    })

    test('is never busy while the loop turns', () => {
      loop.run(60_000)
      assert.equal(toobusy.lag(), 0)
      assert.equal(toobusy(), false)
    })

    test('smooths the lag, and forgets it', () => {
      toobusy.smoothingFactor(0.5)
      loop.run(500)
      loop.stall(500 + 400)
      assert.equal(toobusy.lag(), 200)
      loop.run(500)
      assert.equal(toobusy.lag(), 100)
      loop.run(500)
      assert.equal(toobusy.lag(), 50)
    })

    test('is busy with a probability that grows with the lag beyond maxLag', () => {
      toobusy.smoothingFactor(1)
      toobusy.maxLag(100)
      loop.run(500)
      loop.stall(500 + 125)
      const random = mock.method(Math, 'random', (): number => 0.249)
      assert.equal(toobusy(), true)
      random.mock.mockImplementation(() => 0.25)
      assert.equal(toobusy(), false)
      random.mock.mockImplementation(() => 0.999_999)
      loop.stall(500 + 200)
      assert.equal(toobusy(), true)
      random.mock.mockImplementation(() => 0)
      loop.stall(500 + 100)
      assert.equal(toobusy(), false)
    })

    test('calls its listeners above the last threshold that was set', () => {
      const seen: string[] = []
      toobusy.smoothingFactor(1)
      toobusy.onLag(lag => seen.push(`first ${lag}`), 200)
      loop.run(500)
      loop.stall(500 + 150)
      assert.equal(seen.length, 0)
      toobusy.onLag(lag => seen.push(`second ${lag}`))
      toobusy.maxLag(300)
      loop.stall(500 + 150)
      assert.deepEqual(seen, ['first 150', 'second 150'])
      loop.run(5_000)
      assert.equal(seen.length, 2)
    })

    test('does not call listeners with a threshold of -1', () => {
      const seen: number[] = []
      toobusy.onLag(lag => seen.push(lag), 0)
      toobusy.onLag(lag => seen.push(lag), -1)
      loop.run(500)
      loop.stall(5_000)
      assert.deepEqual(seen, [])
    })

    test('stops on shutdown(), and starts again on interval()', () => {
      loop.run(500)
      loop.stall(2_000)
      assert.ok(toobusy.lag() > 0)
      toobusy.shutdown()
      assert.equal(toobusy.started(), false)
      assert.equal(toobusy.lag(), 0)
      loop.stall(2_000)
      assert.equal(toobusy.lag(), 0)
      assert.equal(toobusy.interval(), 500)
      assert.equal(toobusy.started(), false)
      assert.equal(toobusy.interval(250), 250)
      assert.equal(toobusy.started(), true)
      toobusy.shutdown()
      toobusy.shutdown()
      assert.equal(toobusy.started(), false)
    })
  })
}

const fresh = (): Promise<TooBusy[]> => Promise.all(IMPLEMENTATIONS.map(({ load }) => load()))

test('property: both implementations return the same after any history', async () => {
  const step = fc.oneof(
    fc.record({ do: fc.constant('run' as const), ms: fc.integer({ min: 0, max: 3_000 }) }),
    fc.record({ do: fc.constant('stall' as const), ms: fc.integer({ min: 0, max: 10_000 }) }),
    fc.record({ do: fc.constant('interval' as const), ms: fc.integer({ min: 16, max: 2_000 }) }),
    fc.record({ do: fc.constant('maxLag' as const), ms: fc.integer({ min: 10, max: 2_000 }) }),
    fc.record({ do: fc.constant('smoothing' as const), ms: fc.integer({ min: 1, max: 100 }) }),
    fc.record({ do: fc.constant('onLag' as const), ms: fc.integer({ min: -1, max: 500 }) }),
  )
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { maxLength: 8 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      async (steps, luck) => {
        const loop = new FakeLoop()
        const random = mock.method(Math, 'random', () => luck)
        try {
          const both = await fresh()
          const heard: number[][] = both.map(() => [])
          for (const { do: what, ms } of steps) {
            if (what === 'run') loop.run(ms)
            else if (what === 'stall') loop.stall(ms)
            both.forEach((toobusy, i) => {
              if (what === 'interval') toobusy.interval(ms)
              else if (what === 'maxLag') toobusy.maxLag(ms)
              else if (what === 'smoothing') toobusy.smoothingFactor(ms / 100)
              else if (what === 'onLag') toobusy.onLag(lag => heard[i]!.push(lag), ms)
            })
            const [reference, ours] = both.map(t => [t(), t.lag(), t.maxLag(), t.interval(), t.smoothingFactor()])
            assert.deepEqual(ours, reference)
          }
          assert.deepEqual(heard[1], heard[0])
        } finally {
          random.mock.restore()
          loop.restore()
        }
      },
    ),
  )
})

test('meltproof counts no lag for the time after shutdown(), unlike toobusy-js', async () => {
  const loop = new FakeLoop()
  try {
    const both = await fresh()
    for (const toobusy of both) toobusy.shutdown()
    loop.stall(9_000)
    for (const toobusy of both) toobusy.interval(500)
    loop.run(500)
    assert.deepEqual(
      both.map(toobusy => toobusy.lag()),
      [3_000, 0],
    )
  } finally {
    loop.restore()
  }
})

test('meltproof throws errors with a code', async () => {
  const [, ours] = await fresh()
  assert.throws(
    () => ours!.maxLag(1),
    error => isMeltproofError(error) && error.code === 'MELTPROOF_OPTION_INVALID',
  )
  ours!.shutdown()
})
