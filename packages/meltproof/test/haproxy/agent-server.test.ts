/** The agent port with arbitrary clients. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import net from 'node:net'
import { afterEach, describe, it, mock } from 'node:test'
import { type Figures, RELEASE } from '../../src/haproxy/advice.ts'
import { type Agent, agent } from '../../src/haproxy/agent.ts'
import { AgentServer } from '../../src/haproxy/agent-server.ts'
import { isMeltproofError } from '../../src/errors.ts'
import type { Guard } from '../../src/server/guard.ts'
import { protect } from '../../src/server/protect.ts'
import { get } from '../register/child.ts'
import { eventually } from '../server/harness.ts'

const ends: (() => void)[] = []
afterEach(() => {
  for (const end of ends.splice(0)) end()
})

const FIGURES: Figures = {
  ...{ abandoned: 0, admitted: 0, draining: false, dryRun: false, inflight: 3, limit: 10, limitKnown: true },
  ...{ open: 3, queued: 0, shed: {} as Figures['shed'], utilisation: 0.95 },
}

const LINE = 'up 100%\n'

async function served(figures: () => Figures | Promise<Figures>): Promise<{ agent: AgentServer; port: number }> {
  const agent = new AgentServer(figures)
  agent.server.listen(0, '127.0.0.1')
  ends.push(() => agent.close())
  await once(agent.server, 'listening')
  return { agent, port: (agent.server.address() as net.AddressInfo).port }
}

/** All that the agent sends until it closes. */
async function ask(port: number, says?: string): Promise<string> {
  const socket = net.connect({ port, host: '127.0.0.1' })
  if (says !== undefined) socket.write(says)
  let heard = ''
  socket.on('data', data => {
    heard += data
  })
  await once(socket, 'close')
  return heard
}

describe('the agent port', () => {
  it('sends a line and closes, whatever it receives', async () => {
    const { port } = await served(() => FIGURES)
    for (const says of [undefined, 'app/app1\n', 'half a li', 'GET / HTTP/1.1\r\n\r\n'.repeat(5000)]) {
      assert.equal(await ask(port, says), LINE)
    }
  })

  it('reads the figures at most ten times a second, however often it is polled', async () => {
    let looks = 0
    const { port } = await served(() => {
      looks++
      return FIGURES
    })
    const beganAt = Date.now()
    for (let i = 0; i < 20; i++) {
      const lines = await Promise.all(Array.from({ length: 50 }, () => ask(port)))
      for (const line of lines) assert.equal(line, LINE)
    }
    const tookMs = Date.now() - beganAt
    assert.ok(looks <= 2 + tookMs / 100, `${looks} looks in ${tookMs} ms`)
  })

  it('answers a balancer while a thousand clients keep their connections half-open', async () => {
    const { agent, port } = await served(() => FIGURES)
    const silent: net.Socket[] = []
    ends.push(() => {
      for (const socket of silent) socket.destroy()
    })
    for (let i = 0; i < 20; i++) {
      for (let j = 0; j < 50; j++) {
        silent.push(net.connect({ port, host: '127.0.0.1', allowHalfOpen: true }).on('error', () => undefined))
      }
      assert.equal(await ask(port), LINE)
    }
    const count = await new Promise<number>((resolve, reject) =>
      agent.server.getConnections((error, connections) => (error ? reject(error) : resolve(connections))),
    )
    assert.ok(count <= 101, `${count} are open`)
  })

  it('reports when a balancer has read a maxconn, and not before an overload', async () => {
    let held = 0
    let shed = 0
    const figures = (): Figures => ({ ...FIGURES, shed: { standing: shed } as Figures['shed'] })
    const agent = new AgentServer(figures, () => held++)
    agent.server.listen(0, '127.0.0.1')
    ends.push(() => agent.close())
    await once(agent.server, 'listening')
    const { port } = agent.server.address() as net.AddressInfo
    assert.equal(await ask(port), LINE)
    assert.equal(held, 0)
    shed++
    await eventually('it is held', () => ask(port).then(line => line === 'up 100% maxconn:14\n'))
    await eventually('it is said', () => held > 0)
  })

  it('releases maxconn if the figures throw or the guard closes', async () => {
    const { agent, port } = await served(() => {
      throw new Error('no figures')
    })
    assert.equal(await ask(port), RELEASE)
    agent.release()
    assert.ok(agent.server.listening)
    assert.equal(await ask(port), RELEASE)
    await eventually('it closes', () => !agent.server.listening)
  })
})

describe('agent(guard, options)', () => {
  async function service(): Promise<{ guard: Guard; port: number }> {
    const server = http.createServer((_, response) => response.end('served'))
    const guard = protect(server, { lanes: 1, limit: 10 })
    server.listen(0, '127.0.0.1')
    ends.push(() => server.close())
    await once(server, 'listening')
    return { guard, port: (server.address() as net.AddressInfo).port }
  }

  // Later attempts to open the port are the same as for the admin port, and tested in admin-cluster.test.ts.
  it('warns that its port is in use, and the service still answers', async () => {
    const { guard, port } = await service()
    const stranger = net.createServer().listen(0, '127.0.0.1')
    await once(stranger, 'listening')
    const taken = (stranger.address() as net.AddressInfo).port
    const warnings: string[] = []
    const emitWarning = mock.method(process, 'emitWarning', (text: string) => warnings.push(text))
    let made: Agent | undefined
    try {
      made = agent(guard, { port: taken })
      await eventually('it is told of', () => warnings.length > 0)
      assert.match(warnings[0]!, /^meltproof\/haproxy cannot answer HAProxy's agent checks\. .*EADDRINUSE.* every/)
      assert.equal(warnings.length, 1)
      assert.equal(await get(port), 'served')
    } finally {
      emitWarning.mock.restore()
      made?.close()
      stranger.close()
    }
  })

  it('rejects invalid options', async () => {
    const { guard } = await service()
    for (const [given, expected] of [
      [[guard, { port: 70_000 }], /port must be a whole number from 0 to 65535; got 70000/],
      [[guard, { port: 1, hots: '::' }], /does not know 'hots'\. Did you mean 'host'\?/],
      [[guard, { port: 1, host: 5 }], /host must be an address; got 5/],
      [[guard], /must be an object with a port; got undefined/],
      [[{}, { port: 1 }], /guard must be the guard that protect\(\) returned/],
    ] as const) {
      assert.throws(
        () => (agent as (...args: unknown[]) => void)(...given),
        error => {
          assert.ok(isMeltproofError(error))
          assert.match(error.message, expected)
          return true
        },
      )
    }
  })
})

describe('stats().open', () => {
  it('counts requests in service, waiting and upgraded connections, but no idle or shed ones', async () => {
    const responses: http.ServerResponse[] = []
    const server = http.createServer((_, response) => responses.push(response))
    server.on('upgrade', (_, socket) => {
      ends.push(() => socket.destroy())
      socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: test\r\n\r\n')
    })
    const guard = protect(server, { lanes: 1, limit: 1 })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as net.AddressInfo
    const sockets = Array.from({ length: 4 }, () => net.connect({ port, host: '127.0.0.1' }))
    ends.push(() => {
      for (const socket of sockets) socket.destroy()
      server.close()
    })
    const [first, second, upgraded] = sockets as [net.Socket, net.Socket, net.Socket]
    first.write('GET /1 HTTP/1.1\r\nhost: x\r\n\r\n')
    await eventually('one is in service', () => guard.stats().open === 1)
    second.write('GET /2 HTTP/1.1\r\nhost: x\r\n\r\n')
    await eventually('one waits', () => guard.stats().queued === 1)
    assert.equal(guard.stats().open, 2)
    upgraded.write('GET /3 HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: test\r\n\r\n')
    await eventually('one is upgraded', () => guard.stats().open === 3)
    responses[0]!.end()
    await eventually('the second is in service', () => responses.length === 2)
    responses[1]!.end()
    await eventually('one is left', () => guard.stats().open === 1)
  })
})
