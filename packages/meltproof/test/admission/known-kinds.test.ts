/** When a path becomes a known kind. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { KINDS, KnownKinds, UNKNOWN } from '../../src/admission/fairness/known-kinds.ts'
import type { KindKey } from '../../src/admission/fairness/path-hash.ts'

class Service {
  readonly kinds = new KnownKinds(1)
  nowMs = 0
  standing = false

  /** Requests and answers each of these paths every 100 ms. */
  answers(seconds: number, ...paths: KindKey[]): void {
    const until = this.nowMs + seconds * 1000
    for (; this.nowMs < until; this.nowMs += 100) {
      for (const path of paths) this.kinds.answered(this.kinds.of(path), path, this.nowMs, this.standing)
    }
  }

  isKnown(path: KindKey): boolean {
    return this.kinds.of(path) !== UNKNOWN
  }

  /** How many requests of this path may arrive within a window. */
  most(path: string): number {
    let came = 0
    for (; came < 10_000 && this.isKnown(path); came++) this.kinds.arrived(this.kinds.of(path), this.nowMs)
    return came
  }
}

/** Encodes a number as a word of letters. */
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

  it('that differs only in its last segment is one kind, except at the root', () => {
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

  it('becomes known among thousands of paths that are requested once', () => {
    const service = new Service()
    let i = 0
    for (let at = 0; at < 50; at++) {
      service.answers(0.1, '/a', ...Array.from({ length: 500 }, () => `/${word(i++)}`))
    }
    assert.ok(service.isKnown('/a'))
  })

  it('takes longer to become known the more paths are known, up to 31', () => {
    const service = new Service()
    const paths = Array.from({ length: 100 }, (_, n) => `/${word(n)}`)
    const known = (): number => paths.filter(path => service.isKnown(path)).length
    service.answers(2, ...paths)
    const soon = known()
    service.answers(600, ...paths)
    assert.ok(soon >= 4 && soon < 20, `${soon} after two seconds`)
    assert.equal(known(), KINDS - 1)
  })

  it('becomes known by requests alone, without an answer, after the start of the process', () => {
    const { kinds } = new Service()
    for (let atMs = 0; atMs < 500; atMs += 10) kinds.arrived(kinds.of('/a'), atMs)
    assert.notEqual(kinds.of('/a'), UNKNOWN)
  })

  it('does not become known by 404 answers, but stays known through them', () => {
    const { kinds } = new Service()
    const known = (['/made/up', '/orders'] as const).map(path => {
      let tenths = 0
      for (let atMs = 0; atMs < 20_000; atMs += 10) {
        const kind = kinds.of(path)
        kinds.arrived(kind, atMs)
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

  it('is forgotten after a minute without requests', () => {
    const service = new Service()
    service.answers(1, '/a')
    service.answers(60, '/b')
    assert.deepEqual([service.isKnown('/a'), service.isKnown('/b')], [false, true])
  })
})

describe('a name', () => {
  it('is learned like a path, and is another kind than its path', () => {
    const service = new Service()
    const [viewer, report] = ['Viewer', 'Report'].map(name => service.kinds.keyOf(name)) as [number, number]
    service.answers(0.1, ...Array<number>(50).fill(viewer))
    assert.equal(service.isKnown(viewer), false)
    service.answers(2, viewer, report, '/graphql')
    assert.equal(new Set([viewer, report, '/graphql'].map(key => service.kinds.of(key))).size, 3)
    assert.ok(service.isKnown(viewer) && service.isKnown(report) && service.isKnown('/graphql'))
    assert.equal(service.isKnown(service.kinds.keyOf('viewer')), false)
  })

  it('becomes known among thousands of made-up names, which stay unknown', () => {
    const service = new Service()
    const viewer = service.kinds.keyOf('Viewer')
    const madeUp = Array.from({ length: 20_000 }, (_, n) => service.kinds.keyOf(`${'long'.repeat(20)}${n}`))
    for (let at = 0; at < 40; at++) service.answers(0.1, viewer, ...madeUp.slice(500 * at, 500 * (at + 1)))
    assert.ok(service.isKnown(viewer))
    assert.equal(madeUp.filter(key => service.isKnown(key)).length, 0)
  })

  it('counts together with paths towards the maximum number of kinds', () => {
    const service = new Service()
    const keys = Array.from({ length: 100 }, (_, n) => (n % 2 === 0 ? service.kinds.keyOf(`op${n}`) : `/${word(n)}`))
    service.answers(600, ...keys)
    assert.equal(keys.filter(key => service.isKnown(key)).length, KINDS - 1)
  })

  it('does not make the route of its path known', () => {
    const { kinds } = new Service()
    const key = kinds.keyOf('Viewer')
    for (let i = 0; i < 20; i++) kinds.answered(kinds.of(key), key, i * 100, false, '/users/:name/orders')
    assert.notEqual(kinds.of(key), UNKNOWN)
    assert.equal(kinds.of('/users/ann/orders'), UNKNOWN)
  })

  it('does not become known by 404 answers', () => {
    const { kinds } = new Service()
    const key = kinds.keyOf('made up')
    for (let atMs = 0; atMs < 20_000; atMs += 100) kinds.notFound(kinds.of(key), key)
    assert.equal(kinds.of(key), UNKNOWN)
  })
})

describe('while a queue stands', () => {
  it('a kind takes about 1.5 times its earlier rate, and further requests count as unknown', () => {
    const service = new Service()
    service.answers(20, '/a', '/a', '/b')
    service.standing = true
    const most = service.most('/a')
    assert.ok(most >= 60 && most <= 66, `${most} of a window's 40`)
    assert.ok(service.isKnown('/b'))
  })

  it('a new path stays unknown if another path was known before', () => {
    const service = new Service()
    service.answers(20, '/a')
    service.standing = true
    service.answers(20, '/a', '/b')
    assert.deepEqual([service.isKnown('/a'), service.isKnown('/b')], [true, false])
  })

  it('new paths become known, at any rate, if the queue has stood since the process started', () => {
    const service = new Service()
    service.standing = true
    service.answers(20, '/a', '/b')
    assert.deepEqual([service.isKnown('/a'), service.isKnown('/b')], [true, true])
    assert.equal(service.most('/a'), 10_000)
  })
})
