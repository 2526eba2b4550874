/** meltproof/register limits outbound calls if the operator asks for it, and reports that once. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { start } from './child.ts'

for (const CLIENT of ['fetch', 'http', 'undici']) {
  describe(`register and calls of ${CLIENT}`, () => {
    it('limits the calls, and reports the limits once', async () => {
      const env = { CLIENT, MELTPROOF_OUTBOUND: 'on' }
      const { code, stdout, stderr } = await start('calls-out.mjs', { env }).ended
      assert.deepEqual({ code, stdout }, { code: 0, stdout: 'hello\n'.repeat(3) })
      assert.match(
        stderr,
        /^meltproof\/register: outbound calls of this process are limited: 150 s to connect, 900 s to the head of the answer\. .*\n$/,
      )
    })

    for (const [name, env] of Object.entries({
      'by default': {},
      'when meltproof is off': { MELTPROOF_OUTBOUND: 'on', MELTPROOF: 'off' },
      'when they are off and have limits': { MELTPROOF_OUTBOUND: 'off', MELTPROOF_OUTBOUND_TOTAL: '1ms' },
    })) {
      it(`does not limit the calls ${name}`, async () => {
        const { code, stdout, stderr } = await start('calls-out.mjs', { env: { CLIENT, ...env } }).ended
        assert.deepEqual({ code, stdout, stderr }, { code: 0, stdout: 'hello\n'.repeat(3), stderr: '' })
      })
    }

    for (const EARLY of ['', 'on']) {
      it(`gives way to limits that the app installs ${EARLY ? 'before' : 'after'} its first listen()`, async () => {
        const env = { CLIENT, EARLY, INSTALL: '100', MELTPROOF_OUTBOUND: 'on' }
        const { code, stdout, stderr } = await start('calls-out.mjs', { env }).ended
        assert.deepEqual({ code, stdout, stderr }, { code: 0, stdout: 'first-byte\n', stderr: '' })
      })
    }
  })
}
