/** Agents like those of `tunnel` and `tunnel-agent`: their queue is a list of entries, and node:http opens tunnels. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import http, { type ClientRequest } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { after, afterEach, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Budget } from '../../src/deadline/budget.ts'
import { runWithBudget } from '../../src/deadline/context.ts'
import { pendingFairTimers } from '../../src/deadline/fair-timer.ts'
import { DeadlineExceededError, within } from '../../src/deadline/index.ts'
import { install } from '../../src/outbound/install.ts'
import type { OutboundLimits } from '../../src/outbound/limits.ts'
import { eventually } from '../server/harness.ts'
import { codesOf, exceeded } from './clients.ts'
import { startDependency } from './dependency.ts'

const dependency = await startDependency()
const proxy = http.createServer().on('connect', (_request, socket: Socket) => {
  const target = connect(dependency.port, '127.0.0.1')
  for (const side of [socket, target]) side.on('error', () => undefined)
  socket.once('close', () => target.destroy())
  target.once('close', () => socket.destroy())
  socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
  socket.pipe(target).pipe(socket)
})
proxy.listen(0, '127.0.0.1')
await once(proxy, 'listening')
after(() => proxy.close())

/** Without a listener these would end the process. */
const uncaught: unknown[] = []
process.on('uncaughtException', error => uncaught.push(error))

let uninstall: (() => void) | undefined
const withLimits = (limits: OutboundLimits): void => {
  uninstall = install(limits)
}
afterEach(async () => {
  await eventually('no call has a timer', () => pendingFairTimers() === 0)
  uninstall?.()
  uninstall = undefined
  assert.deepEqual(uncaught.splice(0), [])
})

/** Opens one tunnel at a time, in the way of both packages. */
class TunnelAgent {
  readonly requests: { readonly request: ClientRequest }[] = []
  #busy = false

  addRequest(request: ClientRequest): void {
    if (this.#busy) this.requests.push({ request })
    else this.#open(request)
  }

  #open(request: ClientRequest): void {
    this.#busy = true
    const { port } = proxy.address() as AddressInfo
    const opening = http.request({ host: '127.0.0.1', port, method: 'CONNECT', path: 'dependency:80', agent: false })
    opening.once('connect', (_response, socket) => {
      opening.removeAllListeners()
      socket.removeAllListeners()
      socket.once('free', () => socket.destroy())
      socket.once('close', () => this.#openNext())
      request.onSocket(socket as Socket)
    })
    opening.once('error', error => {
      opening.removeAllListeners()
      request.emit('error', error)
      this.#openNext()
    })
    opening.end()
  }

  #openNext(): void {
    this.#busy = false
    const next = this.requests.shift()
    if (next !== undefined) this.#open(next.request)
  }
}

function get(path: string, agent: object): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port: dependency.port, path, agent: agent as http.Agent }
    const request = http.get(options, response => {
      response.toArray().then(chunks => resolve(String(Buffer.concat(chunks))), reject)
    })
    request.on('error', reject)
  })
}

describe('an agent whose queue is a list of entries', () => {
  test('connectMs does not count the wait in that list', async () => {
    const agent = new TunnelAgent()
    const both = (): Promise<string[]> => Promise.all([get('/hello?ms=2500', agent), get('/hello', agent)])
    assert.deepEqual(await both(), ['hello', 'hello'], 'bare')
    withLimits({ connectMs: 1000, totalMs: 30_000 })
    assert.deepEqual(await both(), ['hello', 'hello'])
  })

  test('a call that is ended in the list leaves it', async () => {
    const agent = new TunnelAgent()
    withLimits({ totalMs: 2000 })
    const held = exceeded(get('/silent', agent))
    const queued = within(100, () => get('/hello', agent))
    assert.equal(agent.requests.length, 1)
    await assert.rejects(queued, DeadlineExceededError)
    assert.deepEqual(agent.requests, [])
    assert.equal((await held).phase, 'total')
  })

  test('a call that is refused leaves the list', async () => {
    const agent = new TunnelAgent()
    withLimits({ maxInFlight: 1 })
    const held = get('/hello?ms=200', agent)
    const refused = get('/hello', agent)
    assert.equal(agent.requests.length, 1)
    await assert.rejects(refused, error => codesOf(error).includes('MELTPROOF_OUTBOUND_FULL'))
    assert.deepEqual(agent.requests, [])
    assert.equal(await held, 'hello')
  })
})

test('an agent whose queue cannot be read removes the limits, and its calls continue', async t => {
  const warnings: string[] = []
  const onWarning = ({ name, message }: Error): void => {
    if (name === 'MeltproofWarning') warnings.push(message)
  }
  process.on('warning', onWarning)
  t.after(() => process.off('warning', onWarning))
  const agent = {
    get requests(): never {
      throw new Error('an odd agent')
    },
    addRequest: (request: ClientRequest) =>
      void setTimeout(() => request.onSocket(connect(dependency.port, '127.0.0.1')), 300),
  }
  assert.equal(await get('/hello', agent), 'hello', 'bare')
  withLimits({ connectMs: 50 })
  assert.equal(await get('/hello', agent), 'hello')
  withLimits({})
  const budget = new Budget(50)
  assert.equal(await runWithBudget(budget, () => get('/hello', agent)), 'hello')
  budget.settle()
  await eventually('two warnings', () => warnings.length === 2)
  for (const warning of warnings) assert.match(warning, /stepped aside.*an odd agent/)
})

describe('a request that loses all its listeners', () => {
  test("in 'connect': it does not stay in flight", async () => {
    const agent = new TunnelAgent()
    const five = async (): Promise<string[]> => {
      const answers: string[] = []
      for (let i = 0; i < 5; i++) answers.push(await get('/hello', agent))
      return answers
    }
    assert.deepEqual(await five(), Array(5).fill('hello'), 'bare')
    withLimits({ maxInFlight: 2 })
    assert.deepEqual(await five(), Array(5).fill('hello'))
  })

  test("in 'upgrade': it does not stay in flight", async () => {
    withLimits({ maxInFlight: 1 })
    for (let i = 0; i < 3; i++) {
      const headers = { connection: 'upgrade', upgrade: 'echo' }
      const request = http.get({ host: '127.0.0.1', port: dependency.port, headers, agent: false })
      const socket = await new Promise<Socket>((resolve, reject) => {
        request.once('error', reject)
        request.once('upgrade', (_response, upgraded) => {
          request.removeAllListeners()
          resolve(upgraded as Socket)
        })
      })
      assert.equal(pendingFairTimers(), 0)
      socket.destroy()
    }
  })

  test('a connection reused by requests that accept an upgrade accumulates no listeners', async () => {
    withLimits({})
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
    const counts: number[] = []
    let socket: Socket | undefined
    for (let i = 0; i < 15; i++) {
      const request = http.get({ host: '127.0.0.1', port: dependency.port, path: '/hello', agent })
      request.on('upgrade', () => undefined)
      const [response] = (await once(request, 'response')) as [http.IncomingMessage]
      assert.ok(socket === undefined || socket === response.socket)
      socket = response.socket
      counts.push(socket.listenerCount('agentRemove'))
      response.resume()
      await once(response, 'close')
      await sleep(1)
    }
    assert.equal(counts.at(-1), counts[0])
    agent.destroy()
  })
})
