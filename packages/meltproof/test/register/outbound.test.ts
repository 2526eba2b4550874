/** meltproof/register bounds outbound calls, says so once, and leaves them alone when told to. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { start } from './child.ts'

for (const CLIENT of ['fetch', 'http', 'undici']) {
  describe(`register and calls of ${CLIENT}`, () => {
    it('bounds them, and says so once', async () => {
      const { code, stdout, stderr } = await start('calls-out.mjs', { env: { CLIENT } }).ended
      assert.deepEqual({ code, stdout }, { code: 0, stdout: 'hello\n'.repeat(3) })
      assert.match(
        stderr,
        /^meltproof\/register: outbound calls of this process are bounded: 10 s to connect, 900 s for the head of the answer\. .*\n$/,
      )
    })

    for (const variable of ['MELTPROOF', 'MELTPROOF_OUTBOUND']) {
      it(`leaves them alone when ${variable} is off`, async () => {
        const { code, stdout, stderr } = await start('calls-out.mjs', { env: { CLIENT, [variable]: 'off' } }).ended
        assert.deepEqual({ code, stdout, stderr }, { code: 0, stdout: 'hello\n'.repeat(3), stderr: '' })
      })
    }

    it('makes way for the limits of an app that installs its own', async () => {
      const { code, stdout, stderr } = await start('calls-out.mjs', { env: { CLIENT, INSTALL: '100' } }).ended
      assert.deepEqual({ code, stdout, stderr }, { code: 0, stdout: 'first-byte\n', stderr: '' })
    })
  })
}
