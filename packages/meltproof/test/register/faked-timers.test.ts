/** A test of an app may fake timers while it sends requests to the app, and while the app begins to listen. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { start } from './child.ts'

for (const [arm, node] of [
  ['bare', []],
  ['with register', undefined],
] as const) {
  for (const [when, app] of [
    ['while the global timers are faked', 'faked-timers.mjs'],
    ['after the timers were faked during the first listen()', 'listens-under-fakes.mjs'],
  ] as const) {
    test(`requests are answered ${when}, ${arm}`, async () => {
      const { stdout } = await start(app, node === undefined ? {} : { node }).ended
      assert.equal(stdout.trim(), '200,200,200,200,200')
    })
  }
}
