/**
 * A request crosses tiers: it is retried once in the whole chain, budgets shrink, and an untrusted caller can forge
 * nothing.
 */
import assert from 'node:assert/strict'
import { AsyncResource } from 'node:async_hooks'
import { once } from 'node:events'
import http, { type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import http2 from 'node:http2'
import type { AddressInfo } from 'node:net'
import { after, afterEach, describe, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { Agent, Client, interceptors, Pool, ProxyAgent, request as undiciRequest } from 'undici'
import { levelOf } from '../src/admission/queue/criticality.ts'
import { Chain, CRITICALITY_FIELD, currentChain, NO_RETRY_FIELD, runInChain } from '../src/chain.ts'
import { Budget } from '../src/deadline/budget.ts'
import { runWithBudget } from '../src/deadline/context.ts'
import { isMeltproofError } from '../src/errors.ts'
import { baggageOfRetry } from '../src/outbound/call.ts'
import { install } from '../src/outbound/install.ts'
import { retry } from '../src/outbound/retry.ts'
import { RetryBudget } from '../src/outbound/retry-budget.ts'
import { protect } from '../src/server/protect.ts'
import type { ProtectOptions } from '../src/server/protect-options.ts'
import { isRetry } from '../src/server/handler/chain-of.ts'
import { criticalityLevels } from '../src/server/request/criticality-of.ts'
import { memoryThat, startGated } from './server/harness.ts'

const servers = new Set<http.Server>()
after(() => {
  for (const server of servers) {
    server.close()
    server.closeAllConnections()
  }
})
let uninstall: (() => void) | undefined
afterEach(() => uninstall?.())

type Listener = (request: IncomingMessage, response: ServerResponse) => Promise<void> | void

async function start(listener: Listener, options?: ProtectOptions): Promise<string> {
  const server = http.createServer((request, response) => void listener(request, response))
  servers.add(server)
  if (options !== undefined) protect(server, { lanes: 1, ...options })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const DEADLINE_FIELD = 'x-envoy-expected-rq-timeout-ms'
const TRUSTED = { trustCallersFrom: ['127.0.0.1'], deadlineMs: 60_000 }
const QUICK = { attempts: 3, baseMs: 0 } as const

type Ask = (url: string, headers?: Record<string, string>) => Promise<string>

/** Throws for every unsuccessful response, as many apps do. */
const overFetch: Ask = async (url, headers = {}) => {
  const response = await fetch(url, { headers })
  const text = await response.text()
  if (!response.ok) throw new Error(`${response.status} ${text}`)
  return text
}
const overNode: Ask = (url, headers = {}) =>
  new Promise((resolve, reject) => {
    http
      .get(url, { headers }, response => {
        let text = ''
        response.on('data', data => (text += String(data)))
        response.on('end', () =>
          response.statusCode === 200 ? resolve(text) : reject(new Error(`${response.statusCode}`)),
        )
      })
      .on('error', reject)
  })
const overUndici: Ask = async (url, headers = {}) => {
  const { statusCode, body } = await undiciRequest(url, { headers })
  const text = await body.text()
  if (statusCode !== 200) throw new Error(String(statusCode))
  return text
}
const CLIENTS: Readonly<Record<string, Ask>> = { fetch: overFetch, 'node:http': overNode, undici: overUndici }

/** Calls the tier below with retries, and fails with its error. */
function tier(below: string, ask: Ask, seen: IncomingHttpHeaders[] = [], path = '/'): Listener {
  const budget = new RetryBudget()
  return async (request, response) => {
    seen.push(request.headers)
    try {
      response.end(await retry(() => ask(below + path), budget, QUICK))
    } catch {
      response.statusCode = 500
      response.end()
    }
  }
}

const failing: Listener = (_, response) => {
  response.statusCode = 500
  response.end()
}

for (const [name, ask] of Object.entries(CLIENTS)) {
  describe(`three tiers, ${name}`, () => {
    test('one request is retried once in the whole chain, and the response says so', async () => {
      const seen: IncomingHttpHeaders[] = []
      const bottom = await start((request, response) => {
        seen.push(request.headers)
        return failing(request, response)
      })
      const third = await start(tier(bottom, ask), TRUSTED)
      const second = await start(tier(third, ask), TRUSTED)
      const first = await start(tier(second, ask), TRUSTED)
      uninstall = install({ tellTo: [first, second, third, bottom] })
      const answer = await fetch(first)
      assert.equal(answer.status, 500)
      assert.equal(answer.headers.get(NO_RETRY_FIELD), 'true')
      assert.deepEqual(
        seen.map(({ baggage }) => baggage),
        [undefined, 'meltproof.retry=1'],
      )
    })

    test('a response lost on its way up costs one more retry', async () => {
      let calls = 0
      const bottom = await start((request, response) => {
        calls++
        return failing(request, response)
      })
      const second = await start(tier(bottom, ask), TRUSTED)
      // Like a process that dies: no response reports the spent retry.
      const relay = await start(async (request, response) => {
        try {
          response.end(await ask(second, { baggage: String(request.headers.baggage ?? 'a=b') }))
        } catch {
          response.destroy()
        }
      })
      const first = await start(tier(relay, ask), TRUSTED)
      uninstall = install({ tellTo: [relay, second, bottom] })
      assert.equal((await fetch(first)).status, 500)
      assert.equal(calls, 3, 'two of the tier whose answer was lost, one of the retry')
    })

    test('budget and criticality are passed down, with less time in each tier', async () => {
      const seen: IncomingHttpHeaders[] = []
      const bottom = await start((request, response) => {
        seen.push(request.headers)
        response.end('ok')
      })
      const third = await start(tier(bottom, ask, seen), TRUSTED)
      const second = await start(tier(third, ask, seen), TRUSTED)
      const first = await start(tier(second, ask), {
        ...TRUSTED,
        criticality: request => (request.url === '/export' ? 'sheddable' : undefined),
      })
      uninstall = install({ totalMs: false, tellTo: [second, third, bottom] })
      assert.equal(await ask(`${first}/export`), 'ok')
      const left = seen.map(headers => Number(headers[DEADLINE_FIELD]))
      assert.equal(left.length, 3)
      assert.ok(60_000 > left[0]! && left[0]! > left[1]! && left[1]! > left[2]! && left[2]! > 0, String(left))
      assert.deepEqual(
        seen.map(headers => headers[CRITICALITY_FIELD]),
        ['sheddable', 'sheddable', 'sheddable'],
      )
    })

    test('an origin outside tellTo gets no fields, also on a retry', async () => {
      const seen: IncomingHttpHeaders[] = []
      const bottom = await start((request, response) => {
        seen.push(request.headers)
        return failing(request, response)
      })
      const chain = (): Chain => new Chain({ criticality: () => 'critical' })
      for (const options of [{}, { tellTo: ['http://somewhere.else'] }]) {
        uninstall = install(options)
        await assert.rejects(runInChain(chain(), () => retry(() => ask(bottom), new RetryBudget(), QUICK)))
      }
      assert.equal(seen.length, 4)
      for (const headers of seen) {
        for (const field of [DEADLINE_FIELD, CRITICALITY_FIELD, 'baggage']) assert.equal(headers[field], undefined)
      }
    })

    test('fields and baggage of the app stay, and those of meltproof appear once', async () => {
      const seen: IncomingHttpHeaders[] = []
      const bottom = await start((request, response) => {
        seen.push(request.headers)
        return failing(request, response)
      })
      uninstall = install({ tellTo: [bottom] })
      const given = { baggage: 'user=1;p=2, meltproof.retry=0 ,x=y%2C', [CRITICALITY_FIELD]: 'sheddable_plus' }
      const chain = new Chain({ criticality: () => 'critical' })
      await assert.rejects(runInChain(chain, () => retry(() => ask(bottom, given), new RetryBudget(), QUICK)))
      assert.equal(seen[0]!.baggage, given.baggage)
      assert.equal(seen[1]!.baggage, 'meltproof.retry=1,user=1;p=2,x=y%2C')
      assert.equal(seen[1]![CRITICALITY_FIELD], 'sheddable_plus')
    })

    test('a shed response is not retried in any tier', async () => {
      const { port } = await startGated(() => assert.fail('it is shed'), { policy: { memory: memoryThat(() => true) } })
      let calls = 0
      const counted: Ask = url => {
        calls++
        return ask(url)
      }
      uninstall = install({})
      await assert.rejects(retry(() => counted(`http://127.0.0.1:${port}`), new RetryBudget(), QUICK))
      assert.equal(calls, 1)
      const second = await start(tier(`http://127.0.0.1:${port}`, counted), TRUSTED)
      const answer = await fetch(second)
      assert.equal(answer.status, 500)
      assert.equal(answer.headers.get(NO_RETRY_FIELD), 'true')
      assert.equal(calls, 2)
    })
  })
}

describe('a call that waits for its connection sends the time left when it goes out', () => {
  const askBy: Readonly<Record<string, (url: string, used: (() => unknown)[]) => () => Promise<unknown>>> = {
    'node:http': (url, used) => {
      const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
      used.push(() => agent.destroy())
      return async () => {
        const [response] = (await once(http.get(url, { agent }), 'response')) as [IncomingMessage]
        response.resume()
        await once(response, 'close')
      }
    },
    'node:http, with a body': (url, used) => {
      const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
      used.push(() => agent.destroy())
      return async () => {
        const request = http.request(url, { agent, method: 'POST' })
        request.end(Buffer.from('body'))
        const [response] = (await once(request, 'response')) as [IncomingMessage]
        response.resume()
        await once(response, 'close')
      }
    },
    Pool: (url, used) => {
      const pool = new Pool(url, { connections: 1 })
      used.push(() => pool.destroy())
      return () => pool.request({ path: '/', method: 'GET' }).then(({ body }) => body.text())
    },
    Client: (url, used) => {
      const client = new Client(url, { pipelining: 1 })
      used.push(() => client.destroy())
      return () => client.request({ path: '/', method: 'GET' }).then(({ body }) => body.text())
    },
  }
  for (const [name, asker] of Object.entries(askBy)) {
    test(name, async () => {
      const told: number[] = []
      let answer: (() => void) | undefined
      const bottom = await start((request, response) => {
        told.push(Number(request.headers[DEADLINE_FIELD]))
        if (told.length === 2) response.end('ok')
        else answer = () => response.end('ok')
        request.resume()
      })
      uninstall = install({ totalMs: false, tellTo: [bottom] })
      const used: (() => unknown)[] = []
      const ask = asker(bottom, used)
      const budget = new Budget(60_000, { hard: true })
      const began = performance.now()
      const both = runWithBudget(budget, () => Promise.all([ask(), ask()]))
      while (answer === undefined || performance.now() - began < 20) await setImmediate()
      const waitedMs = performance.now() - began
      answer()
      await both
      budget.settle()
      for (const each of used) await each()
      assert.ok(told[1]! <= 60_000 - waitedMs + 1 && told[1]! > 0, `${told[1]} after ${waitedMs} ms`)
    })
  }
})

describe('work that continues after its request', () => {
  test('is not part of the chain once that has ended', () => {
    const chain = new Chain({ retried: true })
    const later = runInChain(chain, () => AsyncResource.bind(currentChain))
    assert.equal(later(), chain)
    chain.end()
    assert.equal(later(), undefined)
  })

  test('is not part of the chain once the response has been sent', async () => {
    let later: (() => Chain | undefined) | undefined
    let within: Chain | undefined
    let finished: Promise<unknown> | undefined
    const first = await start(
      (_, response) => {
        later = AsyncResource.bind(currentChain)
        within = later()
        finished = once(response, 'finish')
        response.end()
      },
      { trustCallersFrom: true },
    )
    assert.equal((await fetch(first)).status, 200)
    await finished
    assert.ok(within !== undefined)
    assert.equal(later!(), undefined)
  })
})

test('a failure whose retry was spent has the field, whatever the app passes to writeHead()', async () => {
  const forms: readonly unknown[] = [
    { 'x-app': 'a' },
    ['x-app', 'a'],
    [
      ['x-app', 'a'],
      ['x-app', 'b'],
    ],
  ]
  const url = await start(
    (request, response) => {
      currentChain()!.spend()
      response.writeHead(502, forms[Number(request.url!.slice(1))] as http.OutgoingHttpHeaders).end()
    },
    { trustCallersFrom: true },
  )
  for (const [i, said] of ['a', 'a', 'a, b'].entries()) {
    const { status, headers } = await fetch(`${url}/${i}`)
    assert.deepEqual([status, headers.get('x-app'), headers.get(NO_RETRY_FIELD)], [502, said, 'true'])
  }
})

test('over HTTP/2, a failure whose retry was spent has the field, and a success has not', async () => {
  const server = http2.createServer((request, response) => {
    currentChain()!.spend()
    response.statusCode = Number(request.url.slice(1))
    response.end()
  })
  protect(server, { lanes: 1, trustCallersFrom: true })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = http2.connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  after(() => {
    client.destroy()
    server.close()
  })
  for (const [status, said] of [
    [500, 'true'],
    [200, undefined],
  ] as const) {
    const stream = client.request({ ':path': `/${status}` })
    const [headers] = (await once(stream, 'response')) as [IncomingHttpHeaders & { readonly ':status'?: number }]
    assert.equal(headers[':status'], status)
    assert.equal(headers[NO_RETRY_FIELD], said)
    stream.close()
  }
})

test('through a forward proxy, the target decides whether fields are sent', async () => {
  const seen: [url: string, left: string | undefined][] = []
  const proxy = await start((request, response) => {
    seen.push([request.url!, request.headers[DEADLINE_FIELD] as string | undefined])
    response.end('ok')
  })
  uninstall = install({ tellTo: ['http://prices.internal:8080'] })
  const agent = new ProxyAgent({ uri: proxy, proxyTunnel: false })
  const { hostname: host, port } = new URL(proxy)
  for (const target of ['http://prices.internal:8080/a', 'http://other.internal:8080/a']) {
    await undiciRequest(target, { dispatcher: agent }).then(({ body }) => body.text())
    const [answer] = (await once(http.get({ host, port, path: target }), 'response')) as [IncomingMessage]
    answer.resume()
  }
  await agent.close()
  assert.equal(seen.length, 4)
  for (const [url, left] of seen) assert.equal(left !== undefined, url.startsWith('http://prices.internal:8080/'), url)
})

describe('a redirect to another origin', () => {
  test('carries none of the fields', async () => {
    const seen: IncomingHttpHeaders[] = []
    const stranger = await start((request, response) => {
      seen.push(request.headers)
      response.end('ok')
    })
    const ours = await start((request, response) => {
      seen.push(request.headers)
      response.writeHead(302, { location: stranger }).end()
    })
    uninstall = install({ tellTo: [ours] })
    const agent = new Agent().compose(interceptors.redirect({ maxRedirections: 2 }))
    const chain = new Chain({ retried: true, criticality: () => 'critical_plus' })
    const asked = [
      () => fetch(ours).then(response => response.text()),
      () => undiciRequest(ours, { dispatcher: agent }).then(({ body }) => body.text()),
    ]
    for (const ask of asked) assert.equal(await runInChain(chain, ask), 'ok')
    await agent.close()
    const [first, other, again, another] = seen
    for (const headers of [first!, again!]) {
      assert.equal(headers[CRITICALITY_FIELD], 'critical_plus')
      assert.equal(headers.baggage, 'meltproof.retry=1')
    }
    for (const headers of [other!, another!]) {
      for (const field of [DEADLINE_FIELD, CRITICALITY_FIELD, 'baggage']) assert.equal(headers[field], undefined)
    }
  })
})

describe('an untrusted caller', () => {
  const forged = { [CRITICALITY_FIELD]: 'critical_plus', baggage: 'meltproof.retry=1', [DEADLINE_FIELD]: '30000' }

  test('changes nothing but its own timeout', async () => {
    const seen: IncomingHttpHeaders[] = []
    const bottom = await start((request, response) => {
      seen.push(request.headers)
      return failing(request, response)
    })
    const options = { trustCallersFrom: ['192.0.2.1'], criticalityHeader: CRITICALITY_FIELD, deadlineMs: 60_000 }
    const first = await start(tier(bottom, overFetch), options)
    uninstall = install({ totalMs: false, tellTo: [bottom] })
    assert.equal((await fetch(first, { headers: forged })).status, 500)
    assert.equal(seen.length, 2)
    assert.deepEqual(
      seen.map(headers => headers[CRITICALITY_FIELD]),
      ['critical', 'critical'],
    )
    for (const headers of seen) assert.ok(Number(headers[DEADLINE_FIELD]) > 30_000)
  })

  test('cannot set its criticality at the gate, whatever the name of the criticality header', () => {
    const request = { headers: { 'x-class': 'critical_plus' } } as unknown as IncomingMessage
    const levelFor = (trusts: boolean): number =>
      criticalityLevels(undefined, 'x-class', assert.fail, () => trusts)!(request)
    assert.equal(levelFor(false), levelOf('critical'))
    assert.equal(levelFor(true), levelOf('critical_plus'))
  })

  for (const [name, options] of [
    ['trusts others', { trustCallersFrom: ['192.0.2.1'] }],
    ['trusts none', {}],
    ['trusts none, and has a criticality header of its own', { criticalityHeader: 'x-class' }],
  ] as const) {
    test(`cannot pass its criticality through an app that forwards all headers, and ${name}`, async () => {
      const seen: Pick<IncomingMessage, 'headers' | 'headersDistinct' | 'rawHeaders'>[] = []
      const tellers = install({ tellTo: ['http://somewhere.else'] })
      const proxy = await start((request, response) => {
        const { headers, headersDistinct, rawHeaders } = request
        seen.push({ headers, headersDistinct, rawHeaders })
        response.end()
      }, options)
      const twice = { 'X-Meltproof-Criticality': ['critical', 'critical_plus'], 'x-other': 'stays', cookie: ['a', 'b'] }
      for (const headers of [{ ...forged, 'x-other': 'stays' }, twice, { 'x-other': 'stays' }]) {
        await once(http.get(proxy, { headers }), 'response').then(([response]) =>
          (response as IncomingMessage).resume(),
        )
      }
      tellers()
      assert.equal(seen.length, 3)
      for (const { headers, headersDistinct, rawHeaders } of seen) {
        assert.equal(headers[CRITICALITY_FIELD], undefined)
        assert.equal(headersDistinct[CRITICALITY_FIELD], undefined)
        assert.doesNotMatch(rawHeaders.join(), /criticality/i)
        assert.deepEqual([headers['x-other'], headersDistinct['x-other']], ['stays', ['stays']])
        assert.ok(rawHeaders.includes('x-other'))
      }
    })
  }

  test('cannot pass its criticality to the app over HTTP/2', async () => {
    const server = http2.createServer((request, response) => {
      response.end(JSON.stringify([request.headers, request.rawHeaders]))
    })
    protect(server, { lanes: 1, trustCallersFrom: ['192.0.2.1'] })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const client = http2.connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    const stream = client.request({ ...forged, 'x-other': 'stays' })
    let text = ''
    for await (const chunk of stream) text += String(chunk)
    client.destroy()
    server.close()
    assert.doesNotMatch(text, /criticality/)
    assert.match(text, /x-other":"stays".*x-other","stays"/)
  })

  test('can set its criticality if the criticality header is configured and no callers are trusted', async () => {
    const seen: IncomingHttpHeaders[] = []
    const first = await start(
      (request, response) => {
        seen.push({ ...request.headers, told: String(currentChain()?.criticality) })
        response.end()
      },
      { criticalityHeader: CRITICALITY_FIELD },
    )
    uninstall = install({ tellTo: ['http://somewhere.else'] })
    assert.equal((await fetch(first, { headers: forged })).status, 200)
    assert.deepEqual([seen[0]![CRITICALITY_FIELD], seen[0]!['told']], ['critical_plus', 'critical_plus'])
  })

  for (const [name, ask] of Object.entries(CLIENTS)) {
    test(`cannot extend the time left if an app forwards its headers with ${name}`, async () => {
      const seen: IncomingHttpHeaders[] = []
      const bottom = await start((request, response) => {
        seen.push(request.headers)
        response.end('ok')
      })
      const proxy = await start(
        async (request, response) => {
          response.end(await ask(bottom, { 'X-Envoy-Expected-Rq-Timeout-Ms': String(request.headers[DEADLINE_FIELD]) }))
        },
        { deadlineMs: 60_000 },
      )
      uninstall = install({ totalMs: false, tellTo: [bottom] })
      for (const wished of ['9999999', '-5', 'NaN', '1e3', '61000, 62000', '30000', '30000, 99999999']) {
        assert.equal((await fetch(proxy, { headers: { [DEADLINE_FIELD]: wished } })).status, 200)
      }
      const told = seen.map(headers => headers[DEADLINE_FIELD])
      assert.deepEqual(told.slice(5), ['30000', '30000, 99999999'])
      for (const each of told.slice(0, 5)) assert.ok(Number(each) > 0 && Number(each) <= 60_000, String(each))
    })
  }

  test('gets no retry for a request marked as a retry once it is trusted', async () => {
    let calls = 0
    const bottom = await start((request, response) => {
      calls++
      return failing(request, response)
    })
    const first = await start(tier(bottom, overFetch), TRUSTED)
    uninstall = install({ tellTo: [bottom] })
    assert.equal((await fetch(first, { headers: forged })).status, 500)
    assert.equal(calls, 1)
  })
})

describe('isRetry()', () => {
  for (const [headers, marked] of [
    [{ baggage: 'meltproof.retry=1' }, true],
    [{ baggage: 'a=b;c , meltproof.retry = 1 ;p=1' }, true],
    [{ baggage: ['a=b', 'meltproof.retry=1'] }, true],
    [{ 'x-envoy-attempt-count': '2' }, true],
    [{ 'grpc-previous-rpc-attempts': '1' }, true],
    [{}, false],
    [{ baggage: 'meltproof.retry=0' }, false],
    [{ baggage: 'meltproof.retry=11,xmeltproof.retry=1,a=meltproof.retry=1' }, false],
    [{ baggage: `${'a=1,'.repeat(3_000)}meltproof.retry=1` }, false],
    [{ 'x-envoy-attempt-count': '1' }, false],
    [{ 'x-envoy-attempt-count': '1e9' }, false],
    [{ 'x-envoy-attempt-count': '2, 3' }, false],
    [{ 'x-envoy-attempt-count': '9'.repeat(10_000) }, false],
    [{ 'grpc-previous-rpc-attempts': '-1' }, false],
  ] as const) {
    const text = JSON.stringify(headers).slice(0, 80)
    test(`is ${marked} for ${text}`, () => assert.equal(isRetry(headers as IncomingHttpHeaders), marked))
  }

  test('the baggage of a retry does not grow, however many tiers write it', () => {
    const once = baggageOfRetry(' user=1 , b=2')
    assert.equal(once, 'meltproof.retry=1, user=1 , b=2')
    assert.equal(baggageOfRetry(once), once)
    assert.equal(baggageOfRetry(''), 'meltproof.retry=1')
    assert.equal(isRetry({ baggage: baggageOfRetry('a=1,'.repeat(3_000)) }), true)
  })
})

describe('protect() and install() reject', () => {
  for (const trustCallersFrom of ['10.0.0.0/8', [], ['10.0.0.0/33'], ['localhost'], 1, null]) {
    test(`trustCallersFrom ${JSON.stringify(trustCallersFrom)}`, () => {
      const wrong = { trustCallersFrom } as unknown as ProtectOptions
      assert.throws(() => protect(http.createServer(), wrong), isMeltproofError)
    })
  }
  for (const tellTo of ['http://a', ['a'], ['ftp://a'], ['http://a/path'], ['http://user@a'], [1], {}]) {
    test(`tellTo ${JSON.stringify(tellTo)}`, () => {
      assert.throws(() => install({ tellTo } as never), isMeltproofError)
    })
  }
})
