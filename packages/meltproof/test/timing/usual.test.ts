import assert from 'node:assert/strict'
import { test } from 'node:test'
import { UsualTimes } from '../../src/timing/usual.ts'

test('the usual time is the median of the last calls, not moved by a few slow ones', () => {
  const usual = new UsualTimes()
  assert.equal(usual.of('a'), undefined)
  for (let i = 0; i < 20; i++) usual.note('a', undefined, 50)
  for (let i = 0; i < 5; i++) usual.note('a', undefined, 5000)
  assert.equal(usual.of('a'), 50)
  assert.equal(usual.of('a', undefined, 100, 9000), 5000, 'of those that can be meant')
  assert.equal(usual.of('a', undefined, 60, 70), 50, 'of all when none can')
  for (let i = 0; i < 31; i++) usual.note('a', undefined, 200)
  assert.equal(usual.of('a'), 200, 'it follows a peer that has become slower')
})

test('each route has its own usual time, and a rare route has that of similar routes or of its peer', () => {
  const usual = new UsualTimes()
  for (let i = 0; i < 10; i++) {
    usual.note('a', '/quick', 5)
    for (let slow = 0; slow < 3; slow++) usual.note('a', '/slow/reports', 500)
  }
  assert.equal(usual.of('a', '/quick', 2, 900), 5)
  assert.equal(usual.of('a', '/slow/reports', 2, 900), 500)
  usual.note('a', '/quick/new', 7)
  usual.note('a', '/slow/new', 7)
  assert.equal(usual.of('a', '/quick/new', 2, 900), 5)
  assert.equal(usual.of('a', '/slow/new', 2, 900), 500)
  assert.equal(usual.of('a', '/never', 2, 900), 500)
})

test('the least recently called peer is forgotten first', () => {
  const usual = new UsualTimes()
  usual.note('old', undefined, 1)
  usual.note('kept', undefined, 2)
  for (let i = 0; i < 255; i++) {
    usual.note(`peer ${i}`, undefined, 3)
    usual.note('kept', undefined, 2)
  }
  assert.equal(usual.of('old'), undefined)
  assert.equal(usual.of('kept'), 2)
})

test('ten thousand made-up routes affect neither other peers nor a route in use', () => {
  const usual = new UsualTimes()
  for (let i = 0; i < 5; i++) usual.note('other', '/route', 40)
  for (let i = 0; i < 5; i++) usual.note('peer', '/users/list', 10)
  for (let i = 0; i < 10_000; i++) {
    usual.note('peer', `/${i}/x`, 700)
    if (i % 400 === 0) usual.note('peer', '/users/list', 10)
  }
  assert.equal(usual.of('other', '/route'), 40)
  assert.equal(usual.of('peer', '/users/list', 2, 900), 10)
})
