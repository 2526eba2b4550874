/** Results of several machines as one: nothing lost, and what does not add up refused. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Histogram } from '../../src/load/histogram.ts'
import { attackJson, outcomeOf } from '../../src/results/attack-document.ts'
import { mergeAttacks } from '../../src/results/merge.ts'
import { checkAttack } from '../../src/results/read-attack.ts'
import { constant } from '../load/plan-for.ts'
import { type Made, machine, madeAttack } from './made-attack.ts'

const at = (seconds: number): string => new Date(Date.UTC(2026, 10, 23, 10, 0, 0) + seconds * 1000).toISOString()
const merge = (...all: readonly Made[]) =>
  mergeAttacks(all.map((made, index) => ({ name: `${'abc'[index]}.json`, document: madeAttack(made) })))

test('histograms, counts and rates are those of all requests, and the books balance', () => {
  const latencies = fc.array(fc.double({ min: 0.001, max: 5000, noNaN: true }), { minLength: 1, maxLength: 50 })
  fc.assert(
    fc.property(fc.array(latencies, { minLength: 2, maxLength: 3 }), fc.nat(3), fc.nat(3), (all, shed, failed) => {
      const merged = merge(...all.map(okMs => ({ seconds: 2, okMs, shed, failed })))
      // Valid, and what was sent adds up.
      checkAttack(JSON.parse(attackJson(merged)), 'merged')
      const whole = new Histogram()
      for (const ms of [...all, ...all].flat()) whole.record(ms)
      assert.deepEqual(outcomeOf(merged).okLatency.toJSON(), whole.toJSON())
      assert.equal(merged.scheduled, 2 * all.reduce((sum, okMs) => sum + okMs.length + shed + failed, 0))
      assert.equal(merged.answered['200'], 2 * all.flat().length)
      const { arrival } = merged.plan
      assert.ok(arrival.kind === 'open' && arrival.schedule.phases[0]?.kind === 'constant')
      assert.equal(arrival.schedule.phases[0].rate, all.flat().length)
    }),
    { numRuns: 50 },
  )
})

test('in whatever order', () => {
  const [a, b, c] = [{ okMs: [1, 2] }, { okMs: [30] }, { okMs: [4, 400, 5] }] as const
  const [one, other] = [merge(a, b, c), merge(c, a, b)]
  assert.deepEqual(one.histograms, other.histograms)
  assert.deepEqual(one.seconds, other.seconds)
  assert.equal(one.goodputPerSecond, other.goodputPerSecond)
})

test('seconds are aligned by the clock', () => {
  const long = { arrival: constant(2, 40_000) }
  const merged = merge({ okMs: [1, 1], plan: long }, { okMs: [1], plan: long, origin: { startedAt: at(2.4) } })
  assert.deepEqual(
    merged.seconds.map(({ second, scheduled }) => [second, scheduled]),
    [2, 2, 3, 3, 1, 1].map((scheduled, second) => [second, scheduled]),
  )
  assert.deepEqual([merged.startedAt, merged.elapsedMs], [at(0), 6440])
})

test('users, connections, threads and machines are those of all', () => {
  const made: Made = { plan: { arrival: { kind: 'closed', users: 3, durationMs: 4000, thinkMs: 0 }, threads: 2 } }
  const { plan, machines } = merge(made, made)
  assert.deepEqual(plan.arrival, { kind: 'closed', users: 6, durationMs: 4000, thinkMs: 0 })
  assert.deepEqual(plan.connections, { kind: 'keep-alive', count: 20, max: 1000 })
  assert.deepEqual([plan.threads, machines], [4, [machine, machine]])
})

test('the certificate is the worst, and says whose', () => {
  const doubted = (code: 'late' | 'frozen', why: string): Made => ({
    outcome: { certified: false, why: [why], certificate: { code, doubts: [code], intervals: {} } },
  })
  const merged = merge({}, doubted('late', 'It was late.'), doubted('frozen', 'It was frozen.'))
  assert.deepEqual(
    [merged.certified, merged.certificate.code, merged.why],
    [false, 'frozen', ['b.json: It was late.', 'c.json: It was frozen.']],
  )
  assert.equal(merge({}, {}).certified, true)
})

test('a merged result can be merged again', () => {
  const four = { okMs: [1] }
  const again = mergeAttacks([
    { name: 'a', document: merge(four, four) },
    { name: 'b', document: merge(four, four) },
  ])
  assert.deepEqual([again.scheduled, again.machines.length, new Set(again.runs).size], [16, 4, 4])
})

test('a run that is in two of them is refused, under whatever name, also when it was merged before', () => {
  const [a, b] = [madeAttack(), madeAttack()]
  const both = mergeAttacks([a, b].map((document, at) => ({ name: `${at}`, document })))
  for (const again of [a, structuredClone(a), both]) {
    const parts = [
      { name: 'a.json', document: a },
      { name: 'copy.json', document: again },
    ]
    assert.throws(() => mergeAttacks(parts), {
      name: 'UserError',
      message: 'a.json and copy.json hold the same run, whose requests would count twice; give it once',
    })
  }
})

for (const [what, made, sentence] of [
  [
    'another URL',
    { plan: { url: 'http://127.0.0.1:3001/' } },
    /the URL is http:\/\/127\.0\.0\.1:3000\/ in a\.json, http.* in b\.json; merge takes results of one command/,
  ],
  ['another SLO', { plan: { sloMs: 500 } }, /the SLO is 1s in a\.json, 500ms in b\.json; /],
  ['another body', { plan: { body: 'x' } }, /the body is null/],
  ['another length', { seconds: 3 }, /the kind of load is \S+\/s for 4s in a\.json, .* for \ds in b\.json; /],
  [
    'another kind of load',
    { plan: { arrival: { kind: 'closed', users: 3, durationMs: 4000, thinkMs: 0 } } },
    /the kind of load is \S+\/s for 4s in a\.json, .* for \ds in b\.json; /,
  ],
  ['another kind of connections', { plan: { connections: { kind: 'fresh' } } }, /the kind of connections is/],
  [
    'another version of meltlab',
    { origin: { labVersion: '0.2.0' } },
    /the version of meltlab is 0\.1\.0 in a\.json, 0\.2\.0 in b\.json; /,
  ],
  [
    'another time',
    { origin: { startedAt: at(2) } },
    /the runs began 2\.0 s apart, so their rates are not of one time; start them together/,
  ],
] as const satisfies readonly (readonly [string, Made, RegExp])[]) {
  test(`${what} is refused`, () => {
    assert.throws(() => merge({}, made), { name: 'UserError', message: sentence })
  })
}
