/** Which bodies wait while memory is full, and the order in which they continue. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { BodySource } from '../../../src/signals/memory.ts'
import { PacedBodies } from '../../../src/server/connection/paced-bodies.ts'

class Upload {
  isMidBody = true
  isRead = true

  pauseReading(): void {
    this.isRead = false
  }

  resumeReading(): void {
    this.isRead = true
  }
}

function uploads(count: number) {
  const sources = new Set<BodySource>()
  const all = Array.from({ length: count }, () => new Upload())
  const bodies = new PacedBodies(all, sources)
  for (const _ of all) bodies.began()
  return { all, bodies, sources, read: () => all.map(each => (each.isRead ? 1 : 0)).join('') }
}

describe('request bodies while memory is full', () => {
  it('are read on one, two, then four connections while memory does not grow', () => {
    const { bodies, read } = uploads(8)
    bodies.onFull(true)
    assert.equal(read(), '10000000')
    bodies.onFull(false)
    assert.equal(read(), '11000000')
    bodies.onFull(false)
    assert.equal(read(), '11110000')
    bodies.onFull(true)
    assert.equal(read(), '00001000')
    bodies.onRoom()
    assert.equal(read(), '11111111')
  })

  it('are paused only on connections in the middle of a body', () => {
    const { all, bodies, read } = uploads(3)
    for (const each of all) each.isMidBody = false
    bodies.onFull(true)
    assert.equal(read(), '111')
  })

  it('are registered with the memory watcher while a connection is open', () => {
    const { all, bodies, sources } = uploads(2)
    assert.equal(sources.size, 1)
    for (const each of all) bodies.ended(each)
    assert.equal(sources.size, 0)
  })
})
