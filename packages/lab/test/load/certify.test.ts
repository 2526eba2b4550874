import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { certificateOf, doubts, type Evidence } from '../../src/load/certify.ts'
import type { EngineReport } from '../../src/load/engine-job.ts'
import { Histogram } from '../../src/load/histogram.ts'
import type { Pair } from '../../src/load/tally.ts'
import { Tally } from '../../src/load/tally.ts'
import { constant, planFor } from './servers.ts'

/** Latencies `measured(k)`, of which the generator caused `own(k)`. */
const pair = (count: number, measured: (k: number) => number, own: (k: number) => number): Pair<Histogram> => {
  const both = { measured: new Histogram(), clean: new Histogram() }
  for (let k = 0; k < count; k++) {
    both.measured.record(measured(k))
    both.clean.record(measured(k) - own(k))
  }
  return both
}

const none = (): Pair<Histogram> => pair(0, Number, Number)

const of = (some: Partial<Evidence['latencies']>): Evidence['latencies'] => ({
  ok: none(),
  shed: none(),
  other: none(),
  failed: none(),
  ...some,
})

const worker = (report: Partial<EngineReport> = {}): EngineReport => ({
  tally: new Tally(1000, 1000, 1).data(),
  elapsedMs: 10_000,
  aborted: false,
  cpuMs: 2000,
  idleMs: 0,
  freezes: [],
  unsentForConnection: 0,
  unsentForGenerator: 0,
  standingOpened: 10,
  acknowledged: new Uint32Array(),
  ...report,
})

const evidence = (more: Partial<Evidence> = {}): Evidence => ({
  plan: planFor('http://127.0.0.1/', { arrival: constant(100, 10_000) }),
  workers: [worker()],
  latencies: of({}),
  sendLag: new Histogram(),
  connectionWait: new Histogram(),
  good: 1000,
  goodLost: 0,
  reasons: {},
  ...more,
})

const text = (more: Partial<Evidence>): string =>
  doubts(evidence(more))
    .map(doubt => doubt.sentence)
    .join(' ')

/** The doubts about 5,000 equal 2xx answers. */
const ok = (measured: number, own: number): string =>
  text({
    latencies: of({
      ok: pair(
        5000,
        () => measured,
        () => own,
      ),
    }),
  })

describe('certification', () => {
  it('has no doubts about a generator that was on time', () => {
    assert.deepEqual(
      doubts(
        evidence({
          latencies: of({
            ok: pair(
              5000,
              k => 1 + k / 1000,
              () => 0.1,
            ),
          }),
        }),
      ),
      [],
    )
  })

  it('ignores lateness that does not affect the figures: 20 ms of 3 s', () => {
    assert.equal(
      text({
        latencies: of({
          ok: pair(
            5000,
            () => 3000,
            () => 20,
          ),
        }),
      }),
      '',
    )
  })

  it('reports the same lateness if it does affect the figures: 20 ms of 25 ms', () => {
    assert.match(
      text({
        latencies: of({
          ok: pair(
            5000,
            () => 25,
            () => 20,
          ),
        }),
      }),
      /lateness changed mean of 25 ms by up to 20 ms, p50 of 25/,
    )
  })

  it('ignores one late request in the maximum, unless that request is the maximum', () => {
    assert.equal(
      text({
        latencies: of({
          ok: pair(
            5000,
            k => (k === 0 ? 3.5 : 1),
            k => (k === 0 ? 2.5 : 0),
          ),
        }),
      }),
      '',
    )
    assert.match(
      text({
        latencies: of({
          ok: pair(
            5000,
            k => (k === 0 ? 90 : 1),
            k => (k === 0 ? 89 : 0),
          ),
        }),
      }),
      /changed max of 90/,
    )
  })

  it('tolerates lateness in proportion to the latency, down to the accuracy of the generator', () => {
    assert.equal(ok(29, 1.5), '')
    assert.match(ok(29, 4), /p50 of 29 ms by up to 4 ms/)
    assert.match(ok(0.2, 0.15), /p50 of 0\.2 ms by up to 0\.15 ms/)
    // Within the accuracy of the generator.
    assert.equal(ok(0.2, 0.08), '')
  })

  it('judges a percentile with few samples beyond it as an extreme value, but never the median or the mean', () => {
    const late = (count: number, from: number) =>
      text({
        latencies: of({
          ok: pair(
            count,
            k => (k >= from ? 5 : 3),
            k => (k >= from ? 2 : 0),
          ),
        }),
      })
    assert.equal(late(100, 94), '')
    assert.match(late(1000, 940), /changed p95 of 5 ms by up to 2 ms/)
    assert.match(late(5, 2), /changed mean of 4\.2 ms by up to 1\.2 ms, p50 of 5/)
  })

  it('doubts a late generator even if all its requests failed', () => {
    const failed = (own: number) =>
      doubts(
        evidence({
          good: 0,
          latencies: of({
            failed: pair(
              500,
              () => 2000,
              () => own,
            ),
          }),
        }),
      )
    assert.deepEqual(failed(20), [])
    assert.equal(failed(900)[0]?.code, 'late')
    assert.match(failed(900)[0]!.sentence, /lateness changed failed mean of 2000 ms by up to 900 ms/)
  })

  it('gives the interval in which the clean value of each figure lies', () => {
    const { ok, shed, failed } = certificateOf(
      [],
      of({
        ok: pair(
          100,
          () => 10,
          k => (k < 50 ? 0 : 4),
        ),
        failed: pair(
          1,
          () => 300,
          () => 100,
        ),
      }),
    ).intervals
    assert.deepEqual(ok?.max, [10, 10])
    assert.deepEqual(ok?.mean.map(Math.round), [8, 10])
    assert.deepEqual(failed?.p50, [200, 300])
    assert.equal(shed, undefined)
  })

  it('considers the latency of shed requests as well', () => {
    assert.match(
      text({
        latencies: of({
          shed: pair(
            5000,
            () => 25,
            () => 20,
          ),
        }),
      }),
      /changed shed mean/,
    )
  })

  it('names the connection limit as the cause if requests waited for a connection', () => {
    const wait = new Histogram()
    for (let k = 0; k < 5000; k++) wait.record(20)
    const said = text({
      latencies: of({
        ok: pair(
          5000,
          () => 25,
          () => 20,
        ),
      }),
      sendLag: wait,
      connectionWait: wait,
    })
    assert.match(said, /5,000 requests waited for one of 500 connections; allow more connections/)
  })

  it('names a saturated core as the cause of lateness, and as a doubt of its own only in a closed loop', () => {
    const workers = [worker({ cpuMs: 9800 })]
    assert.equal(text({ workers }), '')
    assert.match(
      text({
        workers,
        latencies: of({
          ok: pair(
            5000,
            () => 25,
            () => 20,
          ),
        }),
      }),
      /it used 98 % of its core/,
    )
    const arrival = { kind: 'closed', users: 5, durationMs: 10_000, thinkMs: 0 } as const
    assert.match(
      text({ workers, plan: planFor('http://127.0.0.1/', { arrival }) }),
      /used 98 % of its core, so it limited the rate/,
    )
    assert.equal(text({ workers: [worker({ cpuMs: 9800, idleMs: 5000 })] }), '')
  })

  it('lists every doubt about a run, the gravest first', () => {
    const arrival = { kind: 'closed', users: 5, durationMs: 10_000, thinkMs: 0 } as const
    const late = pair(
      5000,
      () => 25,
      () => 20,
    )
    const found = doubts(
      evidence({
        workers: [worker({ cpuMs: 9800, standingOpened: 7 })],
        plan: planFor('http://127.0.0.1/', { arrival }),
        latencies: of({ ok: late }),
        goodLost: 500,
      }),
    )
    const { code, doubts: codes } = certificateOf(found.toReversed(), of({ ok: late }))
    assert.deepEqual([code, codes], ['late', ['late', 'saturated', 'standing']])
  })

  it('reports a freeze once, however many workers it stopped', () => {
    const freezes = [{ atMs: 4000, lengthMs: 1000 }]
    const said = text({ workers: [worker({ freezes }), worker({ freezes: [{ atMs: 4001, lengthMs: 999 }] })] })
    assert.match(said, /frozen once, for 1000 ms at 4\.0 s/)
  })

  it('reports unsent requests, missing connections, an early stop, and answers that missed the SLO', () => {
    assert.match(
      text({ workers: [worker({ unsentForConnection: 3 })] }),
      /3 requests found none of 500 connections free/,
    )
    assert.match(
      text({ workers: [worker({ unsentForGenerator: 1 })] }),
      /1 request never went out because the generator/,
    )
    assert.match(text({ workers: [worker({ standingOpened: 7 })] }), /Only 7 of 10 standing connections/)
    assert.match(text({ workers: [worker({ aborted: true, elapsedMs: 3210 })] }), /stopped after 3\.2 s of 10\.0 s/)
    assert.match(text({ goodLost: 11 }), /11 answers missed the SLO only because/)
    assert.equal(text({ goodLost: 5 }), '')
  })

  it('reports the reason of failures without a category', () => {
    assert.match(
      text({ reasons: { 'other: EADDRNOTAVAIL, no ports': 4 } }),
      /4 requests failed: EADDRNOTAVAIL, no ports\./,
    )
  })
})
