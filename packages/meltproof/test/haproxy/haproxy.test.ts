/** deploy/haproxy/haproxy.cfg in a real HAProxy, in front of a real service. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import http from 'node:http'
import { after, describe, it } from 'node:test'
import { freePort } from '../../../lab/src/launch/free-port.ts'
import { pathOf, skipWithout } from '../installed.ts'
import { type Child, get, start } from '../register/child.ts'
import { eventually } from '../server/harness.ts'
import { CONFIGURATION, RealHaproxy } from './real-haproxy.ts'

const skip = skipWithout('haproxy', 'haproxy')
const LIMIT = 4
/** The maxconn that the agent sends: the limit plus a queue. */
const TOLD = 8
const ADMIN = await freePort()
const AGENT = await freePort()

let haproxy: RealHaproxy | undefined
after(() => haproxy?.stop())

const service = (): Child =>
  start('slow.mjs', {
    env: {
      MELTPROOF_LIMIT: String(LIMIT),
      MELTPROOF_ADMIN: `127.0.0.1:${ADMIN}`,
      MELTPROOF_HAPROXY_AGENT: `127.0.0.1:${AGENT}`,
      MELTPROOF_DRAIN: 'on',
    },
  })

interface Answer {
  readonly status: number
  readonly retryAfter: string | undefined
  readonly type: string | undefined
  readonly body: string
}

async function ask(path: string): Promise<Answer> {
  const request = http.get({ socketPath: haproxy!.path, path, agent: false })
  const [response] = (await once(request, 'response')) as [http.IncomingMessage]
  const body = (await response.toArray()).join('')
  const { 'retry-after': retryAfter, 'content-type': type } = response.headers
  return { status: response.statusCode!, retryAfter, type, body }
}

/** How many requests the service has seen. */
async function reached(): Promise<number> {
  const { admitted, queued, shed } = JSON.parse(await get(ADMIN, '/stats'))
  return Object.values(shed as Record<string, number>).reduce((sum, each) => sum + each, admitted + queued)
}

const open = async (): Promise<number> => JSON.parse(await get(ADMIN, '/stats')).open

describe('HAProxy', { skip }, () => {
  it('accepts the configuration without a warning', () => {
    const { status, stdout, stderr } = spawnSync(pathOf('haproxy')!, ['-c', '-f', CONFIGURATION], { encoding: 'utf8' })
    assert.deepEqual([status, stdout.trim(), stderr], [0, 'Configuration file is valid', ''])
  })

  let child: Child
  let port: number
  it('sends all requests while the service is not overloaded', async () => {
    child = service()
    port = await child.port()
    await eventually('the admin port is there', () => get(ADMIN, '/ready').then(Boolean, () => false))
    haproxy = await RealHaproxy.start({ service: port, admin: ADMIN, agent: AGENT })
    await eventually('it has asked', async () => (await haproxy!.server('agent_status')) === 'L7OK')
    assert.deepEqual([await haproxy.server('slim'), await haproxy.server('weight')], ['20', '1'])
    assert.equal((await ask('/')).body, 'served')
  })

  it('applies maxconn when the service sheds, and sheds the rest itself', async () => {
    // The first requests reach the service.
    await eventually('a wave is turned away by HAProxy', async () => {
      const before = await reached()
      const answers = await Promise.all(Array.from({ length: 150 }, () => ask('/slow')))
      const away = answers.filter(({ status }) => status === 503)
      assert.equal(away.length + answers.filter(({ status }) => status === 200).length, 150)
      for (const { body, retryAfter, type } of away) {
        assert.ok(Number(retryAfter) >= 1 && Number(retryAfter) <= 5, `retry-after: ${retryAfter}`)
        assert.deepEqual([type, JSON.parse(body).status], ['application/problem+json', 503])
      }
      return (await reached()) - before <= 2 * TOLD && (await haproxy!.server('slim')) === String(TOLD)
    })
  })

  it('sends nothing to a draining service, loses no request, and uses the next one', async () => {
    const last = ask('/slow')
    // Keeps the drain going until the test ends it.
    const stays = http.get({ port, host: '127.0.0.1', path: '/slower', agent: false }).on('error', () => undefined)
    await eventually('both are in service', async () => (await open()) === 2)
    child.process.kill('SIGTERM')
    await eventually('HAProxy knows', async () => (await haproxy!.server('weight')) === '0')
    assert.equal((await ask('/')).status, 503)
    assert.equal((await last).body, 'served')
    stays.destroy()
    await child.ended
    child = service()
    await haproxy!.command(`set server app/app1 addr 127.0.0.1 port ${await child.port()}`)
    await eventually('it is served', async () => (await ask('/')).body === 'served')
    assert.equal(await haproxy!.server('weight'), '1')
    child.process.kill('SIGKILL')
  })
})
