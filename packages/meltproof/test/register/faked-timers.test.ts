/** A test of an app may fake timers while it sends requests to the app. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { start } from './child.ts'

for (const [arm, node] of [
  ['bare', []],
  ['with register', undefined],
] as const) {
  test(`requests are answered while the global timers are faked, ${arm}`, async () => {
    const { stdout } = await start('faked-timers.mjs', node === undefined ? {} : { node }).ended
    assert.equal(stdout.trim(), '200,200,200,200,200')
  })
}
