/** Which streaming answers need their permit, tested without a server. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Announced, type Look, type Stream, Streams } from '../../src/admission/in-service/streams.ts'

const PERMITS = 2
const WRITES: Look = { moved: true, waits: false }
const SILENT: Look = { moved: false, waits: false }
const WAITS: Look = { moved: false, waits: true }
const PAGED: Look = { moved: true, waits: true }

interface Watched {
  readonly stream: Stream
  /** Checks the stream every 5 ms for `forMs`. Returns how it first releases its permit, and when. */
  readonly isProgressing: (forMs: number, ...looks: Look[]) => { gives: string; atMs: number } | undefined
}

function begin(streams: Streams, announced: Announced = 'neither', kind = 1): Watched {
  let look = WRITES
  let nowMs = 0
  const stream = streams.begun(kind, announced, () => look, nowMs)
  return {
    stream,
    isProgressing: (forMs, ...looks) => {
      for (const until = nowMs + forMs; nowMs < until; ) {
        look = looks[(nowMs / 5) % looks.length]!
        nowMs += 5
        stream.look(nowMs)
        streams.acceptDoubts(nowMs)
        const gives = streams.givesBack(stream, PERMITS)
        if (gives !== undefined) return { gives, atMs: nowMs }
      }
      return undefined
    },
  }
}

function endsSteadily(streams: Streams, announced: Announced = 'neither'): void {
  const { stream, isProgressing } = begin(streams, announced)
  assert.equal(isProgressing(300, WRITES), undefined)
  streams.ended(stream)
}

describe('a streaming response', () => {
  it('keeps its permit if there is a write every 95 ms', () => {
    assert.equal(
      begin(new Streams()).isProgressing(9_000, WRITES, ...Array.from({ length: 18 }, () => SILENT)),
      undefined,
    )
  })

  it('lends its permit if it waits for its client most of the time', () => {
    assert.deepEqual(begin(new Streams()).isProgressing(200, WAITS), { gives: 'for now', atMs: 50 })
    assert.deepEqual(begin(new Streams(), 'finite').isProgressing(200, WAITS), { gives: 'for now', atMs: 50 })
    assert.equal(begin(new Streams()).isProgressing(400, PAGED, PAGED, WRITES)?.gives, 'for now')
    assert.equal(begin(new Streams()).isProgressing(9_000, WAITS, WRITES, WRITES), undefined)
  })

  it('counts as working again only after steady writes', () => {
    const { stream, isProgressing } = begin(new Streams())
    assert.equal(isProgressing(200, WAITS)?.gives, 'for now')
    stream.rests()
    isProgressing(1_000, WAITS, WRITES)
    assert.equal(stream.worksAgain, false)
    isProgressing(400, WRITES)
    assert.equal(stream.worksAgain, false)
    isProgressing(200, WRITES)
    assert.equal(stream.worksAgain, true)
  })

  it('gives up its permit after a silence of 100 ms, and later streams of its kind do at their head', () => {
    const streams = new Streams()
    assert.deepEqual(begin(streams).isProgressing(1_000, SILENT), { gives: 'for good', atMs: 100 })
    assert.equal(begin(streams).isProgressing(1_200, WRITES), undefined)
    assert.deepEqual(begin(streams).isProgressing(1_000, WRITES), { gives: 'for good', atMs: 5 })
    assert.equal(begin(streams, 'neither', 2).isProgressing(95, SILENT), undefined)
  })

  it('keeps its permit while silent if as many doubtful streams as permits have given theirs up', () => {
    const streams = new Streams()
    const doubted = Array.from({ length: PERMITS }, () => begin(streams))
    for (const { isProgressing } of doubted) assert.equal(isProgressing(200, SILENT)?.atMs, 100)
    const next = begin(streams)
    assert.equal(next.isProgressing(800, SILENT), undefined)
    streams.gone(doubted[0]!.stream)
    assert.deepEqual(next.isProgressing(100, SILENT), { gives: 'for good', atMs: 805 })
  })

  it('does not make its kind a feed if it ends while in doubt', () => {
    const streams = new Streams()
    const { stream, isProgressing } = begin(streams)
    assert.equal(isProgressing(200, SILENT)?.gives, 'for good')
    streams.ended(stream)
    assert.equal(streams.doubted, 0)
    assert.equal(begin(streams).isProgressing(3_000, WRITES), undefined)
    assert.equal(begin(streams).isProgressing(400, SILENT), undefined)
  })

  it('gives up its permit at its head if the head announces events', () => {
    assert.deepEqual(begin(new Streams(), 'events').isProgressing(100, WRITES), { gives: 'for good', atMs: 5 })
  })

  it('keeps its permit while silent if others of its kind ended without a silence', () => {
    const streams = new Streams()
    endsSteadily(streams)
    assert.equal(begin(streams).isProgressing(9_900, SILENT), undefined)
  })

  it('keeps its permit while silent if its head announces an end', () => {
    const streams = new Streams()
    assert.deepEqual(begin(streams).isProgressing(1_000, SILENT), { gives: 'for good', atMs: 100 })
    const { stream, isProgressing } = begin(streams, 'finite', 2)
    assert.equal(isProgressing(9_900, SILENT), undefined)
    streams.ended(stream)
    assert.deepEqual(
      begin(streams, 'neither', 2).isProgressing(1_000, SILENT),
      { gives: 'for good', atMs: 100 },
      'says nothing',
    )
  })

  it('lends its permit while silent if others of its kind ended after a silence', () => {
    for (const announced of ['neither', 'events'] as const) {
      const streams = new Streams()
      const { stream, isProgressing } = begin(streams, announced)
      isProgressing(1_000, SILENT)
      streams.ended(stream)
      assert.equal(begin(streams, announced).isProgressing(5_000, WRITES), undefined)
      assert.deepEqual(begin(streams, announced).isProgressing(1_000, SILENT), { gives: 'for now', atMs: 500 })
    }
  })

  it('holds its permit for at most 10 s', () => {
    for (const announced of ['neither', 'finite'] as const) {
      assert.deepEqual(begin(new Streams(), announced).isProgressing(20_000, WRITES), {
        gives: 'for good',
        atMs: 10_000,
      })
    }
    const streams = new Streams()
    endsSteadily(streams)
    for (const look of [WRITES, SILENT]) {
      assert.deepEqual(begin(streams).isProgressing(20_000, look), { gives: 'for good', atMs: 10_000 })
    }
    assert.deepEqual(begin(streams).isProgressing(20_000, SILENT), { gives: 'for now', atMs: 500 })
  })

  it('may hold its permit for another 10 s each time it takes it again', () => {
    const { stream, isProgressing } = begin(new Streams(), 'finite')
    assert.equal(isProgressing(6_000, WRITES), undefined)
    assert.deepEqual(isProgressing(200, WAITS), { gives: 'for now', atMs: 6_050 })
    stream.rests()
    assert.equal(isProgressing(500, WRITES), undefined)
    assert.equal(stream.worksAgain, true)
    stream.restartHold()
    assert.deepEqual(isProgressing(20_000, WRITES), { gives: 'for good', atMs: 6_550 + 10_000 })
  })

  it('makes its kind a feed after 10 s of writes', () => {
    const streams = new Streams()
    begin(streams).isProgressing(20_000, WRITES)
    assert.deepEqual(begin(streams).isProgressing(100, WRITES), { gives: 'for good', atMs: 5 })
  })

  it('is not silent while the loop stalls between two checks', () => {
    const streams = new Streams()
    const stream = streams.begun(1, 'neither', () => SILENT, 0)
    for (let nowMs = 0; nowMs < 5 * 2_000; nowMs += 2_000) stream.look(nowMs)
    assert.equal(streams.givesBack(stream, PERMITS), undefined)
  })
})
