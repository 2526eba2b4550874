/** Which paths have the same hash. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { PathHash } from '../../src/admission/fairness/path-hash.ts'

const hash = new PathHash(1)
const pathOf = (url: string): number => hash.read(url).path
const underOf = (url: string): number => hash.read(url).under

describe('the hash of a path', () => {
  it('ignores ids and the query', () => {
    assert.equal(pathOf('/users/7?full=1'), pathOf('/users/8'))
    assert.equal(pathOf('/users/7/orders/f81d4fae'), pathOf('/users/8/orders/0'))
    assert.notEqual(pathOf('/users/7'), pathOf('/users/list'))
    assert.notEqual(pathOf('/cheap'), pathOf('/heavy'))
  })

  it('ignores letter case and empty segments', () => {
    assert.equal(pathOf('/Users/Ann'), pathOf('/uSERS//ann/'))
    assert.notEqual(pathOf('/users/ann'), pathOf('/usersann'))
  })

  it('has one more value shared by siblings, except at the root', () => {
    assert.equal(underOf('/users/ann'), underOf('/users/bob?x'))
    assert.notEqual(underOf('/users/ann'), pathOf('/users'))
    assert.notEqual(underOf('/users/ann'), underOf('/orders/ann'))
    assert.notEqual(underOf('/users/ann'), underOf('/users/ann/orders'))
    assert.deepEqual([underOf('/ann'), underOf('/'), underOf(''), underOf('*')], [0, 0, 0, 0])
  })

  it('learns from a framework which segments are ids', () => {
    const taught = new PathHash(2)
    const under = (url: string): number => taught.read(url).under
    const [ann, bob] = ['/users/ann/orders', '/users/bob/orders?page=2']
    assert.notEqual(under(ann!), under(bob!))
    taught.learn('/users/cid/orders?x', '/users/:name/orders')
    assert.equal(under(ann!), under(bob!))
    assert.equal(under(ann!), taught.read('/users/7/orders').path)
    assert.notEqual(under(ann!), under('/users/ann/carts'))
    assert.notEqual(under(ann!), under('/shops/ann/orders'))
    assert.notEqual(taught.read(ann!).path, taught.read(bob!).path)
    taught.learn('/a/b/c', '/:one/:two')
    taught.learn('/shops/ann/items/pen', '/shops/:shop/items/:item')
    assert.equal(under('/shops/bob/items/cup'), under('/shops/cid/items/mug'))
  })

  it('is an integer for any path, and depends on the salt', () => {
    for (const url of ['', '/', '*', '?', '/é', '/'.repeat(100_000), 'http://x/y', 'a'.repeat(100_000)]) {
      assert.equal(pathOf(url), pathOf(url) | 0)
      assert.equal(underOf(url), underOf(url) | 0)
    }
    assert.notEqual(new PathHash(1).read('/a').path, new PathHash(2).read('/a').path)
  })
})

describe('the key of a name', () => {
  it('depends on the exact name, up to 128 characters', () => {
    const keys = ['Viewer', 'viewer', 'Viewer2', 'Viewer3', 'a/Viewer', 'Viewer?full=1', ''].map(name =>
      hash.keyOf(name),
    )
    assert.equal(new Set(keys).size, keys.length)
    assert.equal(hash.keyOf('a'.repeat(128)), hash.keyOf(`${'a'.repeat(128)}${'b'.repeat(100_000)}`))
    assert.notEqual(hash.keyOf('a'.repeat(127)), hash.keyOf('a'.repeat(128)))
    assert.notEqual(hash.keyOf('Viewer'), new PathHash(2).keyOf('Viewer'))
  })

  it('is used in place of a path, and has no siblings', () => {
    const key = hash.keyOf('a/b')
    const { path, under } = hash.read(key)
    assert.deepEqual([path, under], [key, 0])
    for (const url of ['a/b', '/a/b', '/a/b?c']) assert.notEqual(pathOf(url), key)
  })
})
