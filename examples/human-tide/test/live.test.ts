import assert from 'node:assert/strict'
import { PassThrough, Writable } from 'node:stream'
import { test } from 'node:test'
import { Shore } from '../src/live/shore.ts'
import { Viewers } from '../src/live/viewers.ts'
import type { Report } from '../src/positions/report.ts'

const at = (at: number, lat: number, name = 'Ada'): Report => ({
  name,
  positions: [{ seq: at, at, lat, lon: 8, accuracy: 5 }],
})

test('many positions between two ticks are sent as one move to the latest place', () => {
  const shore = new Shore()
  shore.move('a', at(1000, 54.1), 1000)
  shore.move('a', at(3000, 54.3), 3000)
  shore.move('a', at(2000, 54.2), 3001) // resent after a loss of signal: late, and older
  const tick = shore.tick(3500)
  assert.deepEqual(tick, { now: 3500, stored: 3, moved: [[1, 54.3, 8, 500, 'Ada']], left: [] })
  assert.deepEqual(shore.tick(4500), { now: 4500, stored: 0, moved: [], left: [] })
})

test('a walker leaves after ten minutes of silence, or at once on forget()', () => {
  const shore = new Shore()
  shore.move('a', at(0, 54), 0)
  shore.move('b', at(300_000, 54), 300_000)
  shore.tick(300_000)
  assert.deepEqual([shore.size, shore.walking(310_000), shore.walking(315_000)], [2, 1, 0])
  assert.deepEqual(shore.tick(600_000).left, [1])
  shore.forget('b')
  assert.deepEqual(shore.tick(600_001).left, [2])
  assert.equal(shore.size, 0)
})

test('a snapshot has bounded trails with a minimum distance, and none with many walkers', () => {
  const shore = new Shore()
  for (let step = 0; step < 100; step++) shore.move('a', at(step, 54 + step * 5e-5), step)
  const trail = shore.snapshot(100).walkers[0]![5]!
  assert.equal(trail.length, 40, 'twenty places')
  const lats = trail.filter((_, index) => index % 2 === 0)
  assert.deepEqual(lats.toSorted(), lats)
  assert.ok(lats.slice(1).every((lat, index) => lat - lats[index]! > 7e-5))
  for (let walker = 0; walker < 100; walker++) shore.move(`${walker}`, at(100, 54), 100)
  assert.equal(
    shore.snapshot(100).walkers.every(drawn => drawn.length === 5),
    true,
  )
})

test('old positions do not add a walker, and the shore holds a maximum of walkers', () => {
  const shore = new Shore(3)
  shore.move('late', at(0, 54), 700_000)
  assert.equal(shore.size, 0)
  for (let walker = 0; walker < 10; walker++) shore.move(`${walker}`, at(walker, 54), walker)
  assert.deepEqual(
    shore.snapshot(10).walkers.map(([number]) => number),
    [8, 9, 10],
  )
})

test('restore() does not overwrite newer positions', () => {
  const shore = new Shore()
  shore.move('a', at(2000, 54.2), 2000)
  shore.restore(
    [
      { walker: 'a', name: 'old', at: 1000, lat: 1, lon: 1 },
      { walker: 'b', name: 'Bo', at: 1500, lat: 2, lon: 2 },
    ],
    2000,
  )
  assert.deepEqual(
    shore.snapshot(2000).walkers.map(([, lat, , , name]) => [lat, name]),
    [
      [54.2, 'Ada'],
      [2, 'Bo'],
    ],
  )
})

const tick = (now: number) => ({ now, stored: 0, moved: [], left: [] })
const empty = () => ({ now: 0, walkers: [] })

test('a viewer that keeps up gets a snapshot, then every tick', () => {
  const viewers = new Viewers(empty)
  const stream = new PassThrough()
  viewers.add(stream, 'me')
  viewers.send(tick(1), 1)
  viewers.send(tick(2), 2)
  const events = String(stream.read()).match(/^event: .*$/gm)
  assert.deepEqual(events, ['event: snapshot', 'event: tick', 'event: tick'])
})

test('a viewer that does not read is sent at most one message at a time, and is disconnected', () => {
  let release: () => void = () => {}
  const written: string[] = []
  const slow = new Writable({
    write(chunk, _encoding, callback) {
      written.push(String(chunk))
      release = callback
    },
  })
  const viewers = new Viewers(empty)
  viewers.add(slow, 'me')
  for (let now = 0; now < 9000; now += 1000) viewers.send(tick(now), now)
  const held = slow.writableLength
  assert.ok(held < 200, `${held} bytes wait`)
  // The viewer reads again. It has missed ticks, so it gets a snapshot.
  release()
  release()
  viewers.send(tick(9000), 9000)
  assert.match(written.at(-1)!, /^event: snapshot/)
  for (let now = 10_000; now <= 20_000; now += 1000) viewers.send(tick(now), now)
  assert.equal(slow.destroyed, true)
  assert.equal(viewers.size, 0)
})

test('a name cannot end an event', () => {
  const shore = new Shore()
  shore.move('a', at(1, 54, '\n\ndata: evil'), 1)
  const viewers = new Viewers(() => shore.snapshot(1))
  const stream = new PassThrough()
  viewers.add(stream, 'me')
  assert.equal(String(stream.read()).match(/^data: /gm)?.length, 1)
})

test('one address cannot take all places, and a place is freed only once', () => {
  const viewers = new Viewers(empty, 3, 2)
  const leaves = [0, 1].map(() => viewers.add(new PassThrough(), 'a'))
  assert.deepEqual([viewers.fullFor('a'), viewers.fullFor('b')], ['for you', undefined])
  viewers.add(new PassThrough(), 'b')
  assert.deepEqual([viewers.fullFor('a'), viewers.fullFor('c')], ['for all', 'for all'])
  leaves[0]!()
  leaves[0]!()
  assert.equal(viewers.fullFor('a'), undefined)
  viewers.add(new PassThrough(), 'a')
  viewers.close()
  leaves[1]!()
  assert.deepEqual([viewers.size, viewers.fullFor('a')], [0, undefined])
})
