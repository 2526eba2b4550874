/** Apps that speak TLS: they are trusted on request, and otherwise the error has a hint. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import https from 'node:https'
import type { AddressInfo } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { takeTurn } from '../../src/compare/take-turns.ts'
import { type Ask, checkAnswers } from '../../src/launch/wait-until-listening.ts'
import { speaksTls, untrustedHint } from '../../src/load/tls.ts'
import { offer } from '../../src/melt/load-plans.ts'
import { checkOptions } from '../../src/melt/options.ts'
import { AUTHORITY, SERVER } from '../load/certificates.ts'
import { contextAt } from '../scenarios/fake-context.ts'

describe('an app that speaks TLS', () => {
  const app = { name: 'the command', ended: () => undefined, lastWords: () => '' }
  const server = https.createServer(SERVER, (_, response) => response.end('ok'))
  const plain = http.createServer((_, response) => response.end('ok'))
  const portOf = (which: http.Server | https.Server): number => (which.address() as AddressInfo).port
  const check = (scheme: string, tls?: Ask['tls']): Promise<unknown> => {
    const url = new URL(`${scheme}://127.0.0.1:${portOf(server)}/`)
    return checkAnswers(app, url, { method: 'GET', headers: {}, body: undefined, tls }, 2000)
  }
  before(async () => {
    for (const each of [server, plain]) {
      each.listen(0, '127.0.0.1')
      await once(each, 'listening')
    }
  })
  after(() => {
    server.close()
    plain.close()
  })

  it('is accepted with --insecure or --cacert, and refused without them with a hint at both', async () => {
    await check('https', { insecure: true })
    await check('https', { ca: AUTHORITY })
    await assert.rejects(
      check('https'),
      /the command is not trusted \(UNABLE_TO_VERIFY_LEAF_SIGNATURE\): --cacert FILE names .*; --insecure trusts any certificate$/,
    )
  })

  it('is detected when it was requested without TLS, with a hint at the options', async () => {
    await assert.rejects(check('http'), /the command uses TLS on port \d+: --cacert FILE names .*; --insecure/)
  })

  it('is distinguished from a server without TLS', async () => {
    assert.deepEqual(
      [await speaksTls('127.0.0.1', portOf(server)), await speaksTls('127.0.0.1', portOf(plain))],
      [true, false],
    )
    assert.match(untrustedHint('DEPTH_ZERO_SELF_SIGNED_CERT'), /--insecure/)
    assert.equal(untrustedHint('ECONNRESET'), '')
  })

  it('is compared with --insecure or --cacert', async () => {
    const origin = new URL(`https://127.0.0.1:${portOf(server)}`)
    const measured = async (tls?: Ask['tls']) => {
      const { context, labels } = contextAt([10])
      const load = { users: 1, durationMs: 1000, timeoutMs: 2000, method: 'GET', tls }
      const turns = { path: '/', load, warmUpMs: 1, startTimeoutMs: 1, labVersion: '' }
      const { plan } = await takeTurn(context, { origin }, { name: 'A', label: 'round 1' }, turns)
      return [labels.length, plan.insecure]
    }
    assert.deepEqual(await measured({ insecure: true }), [2, true])
    assert.deepEqual(await measured({ ca: AUTHORITY }), [2, false])
    await assert.rejects(measured(), /is not trusted/)
  })

  it('gets the TLS options in the load plan of melt', () => {
    const raw = {
      slo: '1s',
      rounds: '1',
      startTimeout: '5s',
      spacing: 'even',
      method: 'GET',
      out: '',
      also: [],
      header: [],
    }
    const options = { ...checkOptions(raw, ['node', 'x.js']), tls: { insecure: true } as const }
    assert.deepEqual(offer({ ...options, url: 'https://127.0.0.1:1/' }, 10, 1000).tls, { insecure: true })
  })
})
