/** How a path becomes a kind of its own. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { KINDS, KnownKinds, UNKNOWN } from '../../src/admission/fairness/known-kinds.ts'
import type { KindKey } from '../../src/admission/fairness/path-hash.ts'

class Service {
  readonly kinds = new KnownKinds(1)
  nowMs = 0
  standing = false

  /** Each of these paths is asked and answered every 100 ms. */
  answers(seconds: number, ...paths: KindKey[]): void {
    const until = this.nowMs + seconds * 1000
    for (; this.nowMs < until; this.nowMs += 100) {
      for (const path of paths) this.kinds.answered(this.kinds.of(path), path, this.nowMs, this.standing)
    }
  }

  isKnown(path: KindKey): boolean {
    return this.kinds.of(path) !== UNKNOWN
  }

  /** How many of this path may come within a window. */
  most(path: string): number {
    let came = 0
    for (; came < 10_000 && this.isKnown(path); came++) this.kinds.came(this.kinds.of(path), this.nowMs)
    return came
  }
}

/** A word of letters for a number. */
const word = (n: number): string => n.toString(16).replace(/\d/g, digit => 'qrstuvwxyz'[Number(digit)]!)

describe('a path', () => {
  it('becomes known after answers at different times, not after many at once', () => {
    const service = new Service()
    service.answers(0.1, ...Array<string>(50).fill('/a'))
    assert.equal(service.isKnown('/a'), false)
    service.answers(0.4, '/a')
    assert.ok(service.isKnown('/a'))
    assert.ok(service.isKnown('/A?b'))
    assert.equal(service.isKnown('/b'), false)
  })

  it('with another last segment each time is a kind as well, but for the root', () => {
    const service = new Service()
    for (let i = 0; i < 40; i++) service.answers(0.1, `/users/${word(i)}`, `/${word(i)}`)
    assert.ok(service.isKnown('/users/whoever'))
    assert.equal(service.isKnown('/whatever'), false)
    assert.equal(service.isKnown('/users'), false)
  })

  it('is known by the route that a framework names', () => {
    const { kinds } = new Service()
    for (let i = 0; i < 20; i++) {
      const path = `/users/${word(i)}/orders`
      kinds.answered(kinds.of(path), path, i * 100, false, '/users/:name/orders')
    }
    assert.notEqual(kinds.of('/users/whoever/orders'), UNKNOWN)
    assert.equal(kinds.of('/users/whoever/carts'), UNKNOWN)
  })

  it('is known beside thousands that are asked for once', () => {
    const service = new Service()
    let i = 0
    for (let at = 0; at < 50; at++) {
      service.answers(0.1, '/a', ...Array.from({ length: 500 }, () => `/${word(i++)}`))
    }
    assert.ok(service.isKnown('/a'))
  })

  it('must be seen for longer, the more are known, and there are never more than so many', () => {
    const service = new Service()
    const paths = Array.from({ length: 100 }, (_, n) => `/${word(n)}`)
    const known = (): number => paths.filter(path => service.isKnown(path)).length
    service.answers(2, ...paths)
    const soon = known()
    service.answers(600, ...paths)
    assert.ok(soon >= 4 && soon < 20, `${soon} after two seconds`)
    assert.equal(known(), KINDS - 1)
  })

  it('is known as well when it is only asked for, from the start of the process on', () => {
    const { kinds } = new Service()
    for (let atMs = 0; atMs < 500; atMs += 10) kinds.came(kinds.of('/a'), atMs)
    assert.notEqual(kinds.of('/a'), UNKNOWN)
  })

  it('is not known when it is answered with 404, unless it was found before', () => {
    const { kinds } = new Service()
    const known = (['/made/up', '/orders'] as const).map(path => {
      let tenths = 0
      for (let atMs = 0; atMs < 20_000; atMs += 10) {
        const kind = kinds.of(path)
        kinds.came(kind, atMs)
        if (path === '/orders' && atMs < 1000) kinds.answered(kind, path, atMs, true)
        else if (atMs % 100 === 0) {
          kinds.notFound(kind, path)
          if (kinds.of(path) !== UNKNOWN) tenths++
        }
      }
      return tenths
    })
    assert.deepEqual(known, [0, 190])
  })

  it('is forgotten when it is not asked for any more', () => {
    const service = new Service()
    service.answers(1, '/a')
    service.answers(60, '/b')
    assert.deepEqual([service.isKnown('/a'), service.isKnown('/b')], [false, true])
  })
})

describe('a name', () => {
  it('is learned as a path is, and is another kind than the path it is on', () => {
    const service = new Service()
    const [viewer, report] = ['Viewer', 'Report'].map(name => service.kinds.keyOf(name)) as [number, number]
    service.answers(0.1, ...Array<number>(50).fill(viewer))
    assert.equal(service.isKnown(viewer), false)
    service.answers(2, viewer, report, '/graphql')
    assert.equal(new Set([viewer, report, '/graphql'].map(key => service.kinds.of(key))).size, 3)
    assert.ok(service.isKnown(viewer) && service.isKnown(report) && service.isKnown('/graphql'))
    assert.equal(service.isKnown(service.kinds.keyOf('viewer')), false)
  })

  it('is known beside thousands that a client makes up, which stay unknown and take no kind', () => {
    const service = new Service()
    const viewer = service.kinds.keyOf('Viewer')
    const madeUp = Array.from({ length: 20_000 }, (_, n) => service.kinds.keyOf(`${'long'.repeat(20)}${n}`))
    for (let at = 0; at < 40; at++) service.answers(0.1, viewer, ...madeUp.slice(500 * at, 500 * (at + 1)))
    assert.ok(service.isKnown(viewer))
    assert.equal(madeUp.filter(key => service.isKnown(key)).length, 0)
  })

  it('is one of 32 kinds at most, together with paths', () => {
    const service = new Service()
    const keys = Array.from({ length: 100 }, (_, n) => (n % 2 === 0 ? service.kinds.keyOf(`op${n}`) : `/${word(n)}`))
    service.answers(600, ...keys)
    assert.equal(keys.filter(key => service.isKnown(key)).length, KINDS - 1)
  })

  it('says nothing about the routes of its path', () => {
    const { kinds } = new Service()
    const key = kinds.keyOf('Viewer')
    for (let i = 0; i < 20; i++) kinds.answered(kinds.of(key), key, i * 100, false, '/users/:name/orders')
    assert.notEqual(kinds.of(key), UNKNOWN)
    assert.equal(kinds.of('/users/ann/orders'), UNKNOWN)
  })

  it('is not known when it is answered with 404', () => {
    const { kinds } = new Service()
    const key = kinds.keyOf('made up')
    for (let atMs = 0; atMs < 20_000; atMs += 100) kinds.notFound(kinds.of(key), key)
    assert.equal(kinds.of(key), UNKNOWN)
  })
})

describe('when more is asked than can be had', () => {
  it('a kind is no more than what it was in calm times, and some', () => {
    const service = new Service()
    service.answers(20, '/a', '/a', '/b')
    service.standing = true
    const most = service.most('/a')
    assert.ok(most >= 60 && most <= 66, `${most} of a window's 40`)
    assert.ok(service.isKnown('/b'))
  })

  it('what comes with it is not told apart, if anything was known before', () => {
    const service = new Service()
    service.answers(20, '/a')
    service.standing = true
    service.answers(20, '/a', '/b')
    assert.deepEqual([service.isKnown('/a'), service.isKnown('/b')], [true, false])
  })

  it('in a process that never saw a calm time, it is', () => {
    const service = new Service()
    service.standing = true
    service.answers(20, '/a', '/b')
    assert.deepEqual([service.isKnown('/a'), service.isKnown('/b')], [true, true])
    assert.equal(service.most('/a'), 10_000)
  })
})
