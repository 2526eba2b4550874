/** install({ adaptive: true }): calls to a busy dependency wait for a permit, and a dead one gets only probes. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import type { Socket } from 'node:net'
import { after, afterEach, beforeEach, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import * as undici from 'undici'
import { AdaptiveLimits, GatedCall } from '../../src/outbound/adaptive.ts'
import { install } from '../../src/outbound/install.ts'
import type { OutboundLimits } from '../../src/outbound/limits.ts'
import { eventually } from '../server/harness.ts'
import { type Client, CLIENTS, codesOf } from './clients.ts'

/** Above the limit found by {@link overload}, and above any limit found on a busy machine. */
const MANY = 300
/** Below that limit on any machine. */
const FEW = 3
/** The limit is never above this. */
const MOST = 100

/** A dependency whose responses the test sends. */
const held: http.ServerResponse[] = []
let arrived = 0
let behave: (response: http.ServerResponse) => void
const server = http.createServer((_request, response) => {
  arrived++
  behave(response)
})
const { promise: listening, resolve } = Promise.withResolvers<string>()
server.listen(0, '127.0.0.1', () => resolve(`http://127.0.0.1:${(server.address() as { port: number }).port}/`))
const url = await listening
after(() => {
  server.close()
  server.closeAllConnections()
})
const hold = (response: http.ServerResponse): void => void held.push(response)
const answerAll = (): void => {
  behave = response => void response.end('answered')
  for (const response of held.splice(0)) response.end('answered')
}

/** The dependency's pool: four connections of 50 ms, 80 calls a second, which a busy machine can serve too. */
const POOL = { connections: 4, ms: 50 }
const inPool: http.ServerResponse[] = []
let busy = 0
const work = (): void => {
  while (busy < POOL.connections && inPool.length > 0) {
    busy++
    const response = inPool.shift()!
    setTimeout(() => {
      busy--
      response.end('answered')
      work()
    }, POOL.ms)
  }
}
const pooled = (response: http.ServerResponse): void => {
  inPool.push(response)
  work()
}

interface Overload {
  /** The outcomes of the calls. */
  readonly answers: readonly (string | string[])[]
  /** The most at the dependency at once, in the last third of the overload. */
  readonly most: number
}

/** Sends three times the pool's capacity until a limit is learned. A busy machine may need several rounds. */
async function overload(client: Client): Promise<Overload> {
  let round = await overloadOnce(client)
  for (let i = 0; i < 4 && round.most > MOST; i++) round = await overloadOnce(client)
  return round
}

/** Sends calls for a second and a half, longer on a busy machine, and waits until all have ended. */
async function overloadOnce(client: Client): Promise<Overload> {
  const perMs = (3 * POOL.connections) / POOL.ms
  const all = 1500 * perMs
  const calls: Promise<string | string[]>[] = []
  let most = 0
  const count = (): void => {
    if (calls.length > (2 / 3) * all) most = Math.max(most, busy + inPool.length)
  }
  // Also counts on each arrival, because periodic counting would miss those just after a stall.
  behave = response => {
    pooled(response)
    count()
  }
  let due = 0
  let lastMs = performance.now()
  while (calls.length < all) {
    const nowMs = performance.now()
    // After a stall, adds no more calls than the pool serves in one round. More at once would be a burst.
    due = Math.min(all, due + Math.min(POOL.ms, nowMs - lastMs) * perMs)
    lastMs = nowMs
    while (calls.length < due) calls.push(client(url).catch(codesOf))
    count()
    await sleep(5)
  }
  const answers = await Promise.all(calls)
  behave = hold
  arrived = 0
  return { answers, most }
}

/** Resolves once no more calls go out. Returns how many did. */
async function wentOut(): Promise<number> {
  await eventually('the first are there', () => arrived >= FEW)
  let before: number
  do {
    before = arrived
    await sleep(20)
  } while (arrived > before)
  return arrived
}

let uninstall: (() => void) | undefined
const withLimits = (limits: OutboundLimits): void => {
  uninstall = install(limits)
}
beforeEach(() => {
  arrived = 0
  behave = hold
})
afterEach(() => {
  uninstall?.()
  answerAll()
})

for (const [name, client] of Object.entries(CLIENTS)) {
  // ky behaves like fetch, and got like axios.
  if (['ky', 'got'].includes(name)) continue
  describe(name, () => {
    test('excess calls wait, and fail with MELTPROOF_OUTBOUND_FULL if they get no turn in time', async () => {
      withLimits({ adaptive: true })
      const { answers, most } = await overload(client)
      assert.ok(most >= FEW && most <= MOST, `${most} were there at once, of ${answers.length}`)
      const failed = answers.filter(answer => answer !== 'answered')
      assert.ok(failed.length > answers.length / 10, `${failed.length} of ${answers.length} failed`)
      for (const codes of failed) assert.ok(codes.includes('MELTPROOF_OUTBOUND_FULL'), String(codes))
      const calls = Array.from({ length: MANY }, () => client(url).catch(codesOf))
      const before = await wentOut()
      assert.ok(before < MANY, `${before} went out`)
      answerAll()
      for (const answer of await Promise.all(calls)) {
        assert.ok(answer === 'answered' || answer.includes('MELTPROOF_OUTBOUND_FULL'), String(answer))
      }
    })

    test('a dead dependency gets a few probes, and all calls again once it answers', async () => {
      withLimits({ adaptive: true })
      behave = response => void response.destroy()
      const codes: string[][] = []
      const call = (): Promise<boolean> =>
        client(url).then(
          () => true,
          (error: unknown) => {
            codes.push(codesOf(error))
            return false
          },
        )
      const isDown = (): boolean => codes.at(-1)?.includes('MELTPROOF_OUTBOUND_DOWN') === true
      await eventually('it counts as dead', async () => {
        await call()
        return isDown()
      })
      const before = arrived
      const calls = await Promise.all(Array.from({ length: MANY }, call))
      assert.ok(arrived - before < MANY / 2, `${arrived - before} of ${calls.length} calls went out`)
      behave = response => void response.end('answered')
      await eventually('it recovers', () => call())
      assert.deepEqual(await Promise.all(Array.from({ length: 30 }, call)), new Array(30).fill(true))
    })

    test('uninstalling sends the calls that wait', async () => {
      withLimits({ adaptive: true })
      await overload(client)
      let refused = 0
      let before = 0
      let calls: Promise<unknown>[] = []
      // On a busy machine all of them may already have waited too long.
      await eventually('some wait', async () => {
        answerAll()
        await Promise.all(calls)
        behave = hold
        arrived = refused = 0
        calls = Array.from({ length: MANY }, () => client(url).catch(() => refused++))
        before = await wentOut()
        return before + refused < MANY
      })
      uninstall?.()
      await eventually('the rest is there', () => arrived + refused === MANY)
      assert.ok(arrived > before, `${arrived} went out, ${before} of them before`)
      answerAll()
      await Promise.all(calls)
    })
  })
}

for (const name of ['fetch', 'node:http'] as const) {
  test(`${name}: a call that gets no turn in time fails, and the error names the origin`, async () => {
    withLimits({ adaptive: true })
    await overload(CLIENTS[name]!)
    let settled = 0
    const calls = Array.from({ length: 900 }, () =>
      CLIENTS[name]!(url)
        .catch((error: unknown) => error)
        .finally(() => settled++),
    )
    await eventually('each is there or has failed', () => arrived + settled === 900)
    // On a busy machine even the first may have waited too long.
    assert.ok(arrived > 0 && settled > 0, `${arrived} went out`)
    answerAll()
    const errors = (await Promise.all(calls)).filter(answer => answer !== 'answered')
    assert.equal(errors.length, 900 - arrived)
    for (const error of errors) {
      const own = (error as Error).cause ?? error
      assert.ok(codesOf(error).includes('MELTPROOF_OUTBOUND_FULL'), String(error))
      assert.ok((own as Error).message.includes(`The call to ${new URL(url).origin} was not started`), String(own))
    }
  })
}

test('a call aborted while it waits leaves the queue', async () => {
  withLimits({ adaptive: true, totalMs: false })
  const client = CLIENTS['fetch']!
  await overload(client)
  const first = Array.from({ length: MANY / 3 }, () => client(url).catch(codesOf))
  const before = await wentOut()
  const leaving = new AbortController()
  const gone = client(url, { signal: leaving.signal })
  await sleep(5)
  leaving.abort()
  await assert.rejects(gone, { name: 'AbortError' })
  assert.equal(arrived, before)
  answerAll()
  await Promise.all(first)
  assert.ok(arrived <= first.length, `${arrived} of ${first.length} and one that left`)
  assert.equal(await client(url), 'answered')
})

for (const name of ['fetch', 'node:http'] as const) {
  test(`${name}: an origin that hung gets calls again once it answers, although the hung ones stay open`, async () => {
    const client = CLIENTS[name]!
    withLimits({ adaptive: true, totalMs: false, firstByteMs: false })
    // The origin's responses are slow, so that stalls of a busy machine hardly change their times. Among quick ones
    // almost only the few that a stall delayed would count (answers.ts). These are so rare that the limiter would
    // notice their end only after seconds.
    behave = pooled
    const untilMs = Date.now() + 1500
    const use = async (): Promise<void> => {
      while (Date.now() < untilMs) assert.equal(await client(url), 'answered')
    }
    await Promise.all(Array.from({ length: POOL.connections }, use))
    behave = hold
    let refused = 0
    const hanging: Promise<unknown>[] = []
    // Adds calls slowly: at most a thousand may be open to one origin, and the learned limit must refuse first.
    while (refused === 0) {
      assert.ok(hanging.length < 900, 'the excess is refused')
      hanging.push(client(url).catch(() => refused++))
      await sleep(8)
    }
    behave = response => void response.end('answered')
    await eventually('it recovers', async () => (await client(url).catch(codesOf)) === 'answered')
    await eventually('it gets all calls', async () => {
      const calls = Array.from({ length: 10 }, () => client(url).catch(codesOf))
      return (await Promise.all(calls)).every(answer => answer === 'answered')
    })
    assert.ok(held.length > 0, 'some hang still')
    answerAll()
    await Promise.all(hanging)
  })
}

test('event streams do not hold a place', async () => {
  withLimits({ adaptive: true })
  await overload(CLIENTS['fetch']!)
  behave = response => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n')
    held.push(response)
  }
  const streams: Response[] = []
  while (streams.length < MANY) streams.push(await fetch(url))
  assert.equal(arrived, MANY)
  answerAll()
  await Promise.all(streams.map(stream => stream.text()))
})

/** Destroys requests before their response, enough for an origin to count as dead. */
async function giveUpMany(reason?: Error): Promise<void> {
  for (let i = 0; i < 12; i++) {
    const before = arrived
    const request = http.get(url)
    const failed = once(request, 'error')
    await eventually('it is there', () => arrived > before)
    await sleep(10)
    request.destroy(reason)
    await failed.catch(() => undefined)
  }
}

for (const [name, reason] of [
  ['destroys its requests', undefined],
  ['cancels them as axios does', Object.assign(new Error('canceled'), { code: 'ERR_CANCELED' })],
] as const) {
  test(`a caller that ${name} does not make the origin count as dead`, async () => {
    withLimits({ adaptive: true })
    await giveUpMany(reason)
    answerAll()
    assert.equal(await CLIENTS['node:http']!(url), 'answered')
  })
}

test('an origin whose body is cut by a limit does not count as dead', async () => {
  withLimits({ adaptive: true, idleMs: 20 })
  behave = response => void response.writeHead(200).write('some')
  for (let i = 0; i < 12; i++) await assert.rejects(CLIENTS['fetch']!(url))
  answerAll()
  assert.equal(await CLIENTS['fetch']!(url), 'answered')
})

for (const [name, upgrade] of Object.entries({
  'node:http': async (): Promise<unknown> => {
    const request = http.get(url, { headers: { connection: 'upgrade', upgrade: 'x' } })
    return (await once(request, 'upgrade'))[1]
  },
  undici: async (): Promise<unknown> => (await undici.upgrade(url, { protocol: 'x' })).socket,
})) {
  test(`${name}: a successful upgrade counts as an answer`, async () => {
    withLimits({ adaptive: true })
    let dead = true
    const upgraded = (_request: http.IncomingMessage, socket: Socket): void => {
      if (dead) socket.destroy()
      else socket.end('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n')
    }
    server.on('upgrade', upgraded)
    try {
      const works = async (): Promise<boolean> => {
        const socket = (await upgrade().catch(codesOf)) as Socket | string[]
        if (Array.isArray(socket)) return socket.includes('MELTPROOF_OUTBOUND_DOWN')
        socket.on('error', () => undefined).destroy()
        return true
      }
      await eventually('it counts as dead', works)
      dead = false
      await eventually('a probe goes through', async () => !Array.isArray(await upgrade().catch(codesOf)))
      for (let i = 0; i < 5; i++) assert.ok(!Array.isArray(await upgrade().catch(codesOf)))
    } finally {
      server.off('upgrade', upgraded)
    }
  })
}

test('what Node throws for an invalid request reaches its caller', async () => {
  const bad = { ...new URL(url), port: 99_999_999 }
  withLimits({ adaptive: true })
  const [error] = (await once(http.get(bad), 'error').catch((error: unknown) => [error])) as [{ code: string }]
  assert.equal(error.code, 'ERR_SOCKET_BAD_PORT')
  withLimits({ origins: { [url]: { adaptive: true } } })
  assert.throws(() => http.get(bad), { code: 'ERR_SOCKET_BAD_PORT' })
  const first = Array.from({ length: FEW }, () => CLIENTS['fetch']!(url))
  await eventually('the limits are still there', () => arrived === FEW)
  answerAll()
  await Promise.all(first)
})

test('without adaptive: true nothing is limited, for all origins or for one', async () => {
  for (const limits of [{}, { adaptive: true, origins: { [url]: { adaptive: false } } }]) {
    withLimits(limits)
    const { answers } = await overloadOnce(CLIENTS['node:http']!)
    const calls = Array.from({ length: MANY }, () => CLIENTS['node:http']!(url))
    await eventually('all of them are there', () => arrived === MANY)
    answerAll()
    assert.deepEqual(new Set([...answers, ...(await Promise.all(calls))]), new Set(['answered']))
    uninstall?.()
  }
  assert.throws(() => install({ adaptive: 1 } as never), /adaptive must be true or false/)
})

test('origins without calls are forgotten to make room for new ones', () => {
  const limits = new AdaptiveLimits(error => assert.fail(String(error)))
  const call = (origin: string): GatedCall =>
    new GatedCall(limits.of(origin)!, 'GET /', Number.POSITIVE_INFINITY, error => assert.fail(error))
  const busy = Array.from({ length: 199 }, (_, i) => call(`http://busy-${i}`))
  for (let i = 0; i < 1000; i++) call(`http://once-${i}`).answered()
  const last = call('http://last')
  assert.equal(limits.of('http://one-more'), undefined, '200 origins are known, and none of them is idle')
  for (const each of [...busy, last]) each.cancelled()
  assert.notEqual(limits.of('http://one-more'), undefined)
})
