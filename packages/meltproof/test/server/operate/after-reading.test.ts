/** A draining server closes sockets only after a turn of its loop without new requests. */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { afterReading } from '../../../src/server/operate/after-reading.ts'

class FakeGate {
  readonly processGate = { admission: this }
  activeAt = 0
  held = false
  hold(): void {
    this.held = true
  }
  resume(): void {
    this.held = false
  }
}

const turn = (): Promise<void> => new Promise(resolve => setImmediate(resolve))

it('afterReading() closes one connection per turn of the loop, and holds new requests until it is done', async () => {
  const gate = new FakeGate()
  let turns = 0
  let counting = true
  const closedIn: number[] = []
  const count = (): void => {
    turns++
    if (counting) setImmediate(count)
  }
  count()
  await new Promise<void>(done =>
    afterReading(
      gate,
      () => {
        assert.equal(gate.held, true)
        closedIn.push(turns)
        return closedIn.length < 5
      },
      done,
    ),
  )
  counting = false
  assert.equal(new Set(closedIn).size, 5)
  assert.equal(gate.held, false)
})

it('afterReading() closes nothing after a turn in which a request arrived', async () => {
  const gate = new FakeGate()
  let closed = false
  const done = new Promise<void>(resolve =>
    afterReading(
      gate,
      () => {
        closed = true
        return false
      },
      resolve,
    ),
  )
  for (let come = 1; come <= 30; come++) {
    gate.activeAt = come
    await turn()
    assert.equal(closed, false)
  }
  await done
  assert.equal(closed, true)
})

it('afterReading() releases the held requests if closing throws', async () => {
  const gate = new FakeGate()
  const fails = (): boolean => {
    throw new Error('an app closes its server otherwise')
  }
  await new Promise<void>(done => afterReading(gate, fails, done))
  assert.equal(gate.held, false)
})
