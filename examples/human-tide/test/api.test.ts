/** Tests the service with a real PostgreSQL: its answers to good and bad input, and the rows that it stores. */
import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { protect } from 'meltproof'
import type { Snapshot } from '../src/live/shore.ts'
import type { HistoryPage } from '../src/positions/history.ts'
import type { TestDatabase } from './postgres.ts'
import { tideHere } from './tide-here.ts'

let database: TestDatabase
let origin: string
let end: () => Promise<void>

before(async () => {
  ;({ database, origin, end } = await tideHere({ proxies: 1 }, protect))
})
after(() => end())

const newKey = (): string => randomBytes(24).toString('base64url')
/**
 * The first 128 bits of the SHA-256 hash, computed here again so that no change assigns walks to other phones by
 * accident.
 */
const idOf = (key: string): string => createHash('sha256').update(key).digest('hex').slice(0, 32)
const position = (seq: number, change: object = {}) => ({
  seq,
  at: Date.now(),
  lat: 54,
  lon: 8,
  accuracy: 5,
  ...change,
})

function post(key: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${origin}/api/positions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
}
/** Sends a request again if a busy machine shed it, as phones and browsers do. */
async function untilTaken(send: () => Promise<Response>): Promise<Response> {
  const answer = await send()
  if (answer.status !== 503) return answer
  await setTimeout(100)
  return untilTaken(send)
}
const postUntilTaken = (key: string, body: unknown): Promise<Response> => untilTaken(() => post(key, body))
const report = (...positions: object[]) => ({ name: 'Ada', sentAt: Date.now(), positions })
const json = async (answer: Response) => (await answer.json()) as Record<string, unknown>
const historyPage = async (from: number, to: number) =>
  (await (await fetch(`${origin}/api/history?from=${from}&to=${to}`)).json()) as HistoryPage
/** How the live page draws the walker of this name. */
async function onTheShore(name: string): Promise<Snapshot['walkers'][number] | undefined> {
  const live = await fetch(`${origin}/api/live`)
  let text = ''
  for await (const chunk of live.body!.pipeThrough(new TextDecoderStream())) {
    text += chunk
    const snapshot = /event: snapshot\ndata: (.*)\n\n/.exec(text)?.[1]
    if (snapshot !== undefined) return (JSON.parse(snapshot) as Snapshot).walkers.find(walker => walker[4] === name)
  }
  return undefined
}
const rowsOf = (key: string) =>
  database.query('SELECT seq::int, lat FROM positions WHERE walker = $1::uuid ORDER BY seq', [idOf(key)])

test('a 200 means that the positions are stored', async () => {
  const key = newKey()
  const answer = await post(key, report(position(1), position(2)))
  assert.equal(answer.status, 200)
  const { stored, known } = await json(answer)
  assert.deepEqual([stored, known], [2, 0])
  assert.deepEqual(await rowsOf(key), [
    { seq: 1, lat: 54 },
    { seq: 2, lat: 54 },
  ])
  assert.deepEqual(await database.query('SELECT name FROM walkers WHERE id = $1::uuid', [idOf(key)]), [{ name: 'Ada' }])
})

test('a position sent again is not stored twice, and the first one counts, even if sent concurrently', async () => {
  const key = newKey()
  const bodies = [
    report(position(3), position(1)),
    report(position(1, { lat: 50 })),
    report(position(2), position(3), position(3)),
  ]
  const first = await post(key, bodies[0])
  const answers = await Promise.all([...bodies, ...bodies].map(body => post(key, body)))
  assert.ok([first, ...answers].every(({ status }) => status === 200))
  assert.deepEqual(await rowsOf(key), [
    { seq: 1, lat: 54 },
    { seq: 2, lat: 54 },
    { seq: 3, lat: 54 },
  ])
})

test('the response and the live page show what is stored: the first of a repeated position', async () => {
  const key = newKey()
  const name = 'Twice'
  const counts = async (...positions: object[]) => {
    const { stored, known } = await json(await post(key, { ...report(...positions), name }))
    return [stored, known]
  }
  const began = Date.now() - 60_000
  assert.deepEqual(await counts(position(1, { at: began, lat: 10 })), [1, 0])
  assert.deepEqual(await counts(position(1, { lat: 20 }), position(1, { lat: 30 })), [0, 2])
  const second = { at: began + 2000, lat: 40 }
  assert.deepEqual(await counts(position(2, second), position(2, { lat: 50 }), position(1, { lat: 20 })), [1, 2])
  assert.deepEqual(await rowsOf(key), [
    { seq: 1, lat: 10 },
    { seq: 2, lat: 40 },
  ])
  assert.equal((await onTheShore(name))?.[1], 40)
})

test('a new name applies from its report on', async () => {
  const key = newKey()
  await post(key, { ...report(position(1)), name: 'Ada' })
  await post(key, { ...report(position(2)), name: 'Augusta' })
  assert.deepEqual(await database.query('SELECT name FROM walkers WHERE id = $1::uuid', [idOf(key)]), [
    { name: 'Augusta' },
  ])
})

for (const [what, body, status, code] of [
  ['out of range', report(position(1), position(2, { lat: 91 })), 400, 'bad-positions'],
  ['NaN', '{"name":"","sentAt":NaN}', 400, 'not-json'],
  ['infinity', JSON.stringify(report(position(1))).replace('"lat":54', '"lat":1e999'), 400, 'bad-positions'],
  ['a clock years off', { ...report(position(1)), sentAt: 1 }, 400, 'clock-wrong'],
  [
    'too deep',
    `{"name":"","sentAt":${Date.now()},"positions":[{"seq":${'['.repeat(15_000)}${']'.repeat(15_000)}}]}`,
    400,
    'bad-positions',
  ],
  ['no JSON', 'hello', 400, 'not-json'],
  ['a bare value', '7', 400, 'not-json'],
  ['a zero byte in a name', { ...report(position(1)), name: 'a\0b' }, 400, 'bad-name'],
  ['too large', { ...report(position(1)), more: 'x'.repeat(40_000) }, 413, 'too-large'],
] as const) {
  test(`${what}: answers ${status} ${code}, and stores nothing of the report`, async () => {
    const key = newKey()
    const answer = await post(key, body)
    assert.equal(answer.status, status)
    assert.match(answer.headers.get('content-type')!, /^application\/problem\+json/)
    assert.equal((await json(answer))['code'], code)
    assert.deepEqual(await rowsOf(key), [])
  })
}

test('numbers at the limits of a column are stored, and do not affect concurrent reports', async () => {
  const sentAt = Date.now()
  const edges = [
    { accuracy: 1e-46 },
    { accuracy: 5e-324 },
    { accuracy: 20_040_000 },
    { lat: 5e-324, lon: -5e-324 },
    { lat: -90, lon: 180 },
    { seq: Number.MAX_SAFE_INTEGER },
    { at: sentAt - 7 * 86_400_000 },
  ]
  const changes = [...edges, ...Array.from({ length: 20 }, () => ({}))]
  const bodies = changes.map(change => ({ ...report(position(1, change)), sentAt }))
  const answers = await Promise.all(bodies.map(body => postUntilTaken(newKey(), body)))
  assert.deepEqual(
    answers.map(({ status }) => status),
    bodies.map(() => 200),
  )
})

test('a report that the database refuses gets a 400, and concurrent reports are stored', async context => {
  const said = context.mock.method(console, 'error', () => {})
  await database.query(
    `ALTER TABLE positions ADD CONSTRAINT not_here CHECK (lat <> 13);
    ALTER TABLE walkers ADD CONSTRAINT not_so CHECK (convert_to(name, 'LATIN1') IS NOT NULL)`,
  )
  try {
    const good = Array.from({ length: 20 }, newKey)
    const stored = good.map(key => postUntilTaken(key, report(position(1))))
    const [badPosition, badName] = await Promise.all([
      postUntilTaken(newKey(), report(position(1), position(2, { lat: 13 }))),
      postUntilTaken(newKey(), { ...report(position(1)), name: '江' }),
    ])
    assert.deepEqual([badPosition.status, (await json(badPosition))['code']], [400, 'not-storable'])
    assert.deepEqual([badName.status, (await json(badName))['code']], [400, 'bad-name'])
    assert.ok((await Promise.all(stored)).every(({ status }) => status === 200))
    for (const key of good) assert.equal((await rowsOf(key)).length, 1)
    assert.match(String(said.mock.calls[0]?.arguments), /SQLSTATE (23514|22P05)/)
  } finally {
    await database.query('ALTER TABLE positions DROP CONSTRAINT not_here; ALTER TABLE walkers DROP CONSTRAINT not_so')
  }
})

test('a wrong content type or encoding gets a 415, a missing or short key a 401', async () => {
  const body = report(position(1))
  assert.equal((await post(newKey(), body, { 'content-type': 'text/plain' })).status, 415)
  assert.equal((await post(newKey(), 'x', { 'content-encoding': 'gzip' })).status, 415)
  for (const authorization of ['', 'Bearer short', `Basic ${newKey()}`, `Bearer ${'x'.repeat(65)}`]) {
    const answer = await post('', body, { authorization })
    assert.equal(answer.status, 401)
    assert.equal(answer.headers.get('www-authenticate'), 'Bearer')
  }
})

test('a flood from one phone gets 429 with Retry-After, and another phone is served', async () => {
  const key = newKey()
  const answers: Response[] = []
  const answered = (status: number): number => answers.filter(answer => answer.status === status).length
  // Requests that a busy machine sheds do not use the phone's quota, so the test sends until the quota is used up.
  while (answered(429) < 20 && answers.length < 2000) {
    const from = answers.length
    answers.push(
      ...(await Promise.all(Array.from({ length: 80 }, (_, index) => post(key, report(position(from + index + 1)))))),
    )
  }
  const refused = answers.filter(({ status }) => status === 429)
  assert.ok(refused.length >= 20, `${refused.length} of ${answers.length} were refused`)
  assert.ok(refused.every(answer => /^[1-9]\d*$/.test(answer.headers.get('retry-after')!)))
  assert.equal(answered(200) + answered(429) + answered(503), answers.length)
  assert.equal((await rowsOf(key)).length, answered(200))
  assert.equal((await postUntilTaken(newKey(), report(position(1)))).status, 200)
})

test('markup in a name is stored and returned as text', async () => {
  const key = newKey()
  const name = `<img src=x onerror=1>'"`
  assert.equal((await post(key, { ...report(position(1)), name })).status, 200)
  assert.deepEqual(await database.query('SELECT name FROM walkers WHERE id = $1::uuid', [idOf(key)]), [{ name }])
  const now = Date.now()
  const page = await historyPage(now - 60_000, now + 1000)
  assert.ok(page.walkers.some(walker => walker.name === name))
})

test('a viewer gets the walkers at once, and then their moves', { timeout: 20_000 }, async () => {
  const key = newKey()
  await post(key, { ...report(position(1)), name: 'Before' })
  const stop = new AbortController()
  const live = await fetch(`${origin}/api/live`, { signal: stop.signal })
  assert.equal(live.headers.get('content-type'), 'text/event-stream')
  let text = ''
  const reading = (async () => {
    for await (const chunk of live.body!.pipeThrough(new TextDecoderStream())) {
      text += chunk
      if (/event: snapshot\ndata: .*Before[\s\S]*event: tick\ndata: .*After/.test(text)) return
    }
  })()
  await post(key, { ...report(position(2, { lat: 54.5 })), name: 'After' })
  await reading
  stop.abort()
  assert.ok(!text.includes(idOf(key).slice(0, 8)), 'viewers do not get the id of a walker')
})

test('HEAD of the live page is answered at once, and occupies no place', { timeout: 20_000 }, async () => {
  // Sends more requests than the number of viewers allowed for one address.
  for (let time = 0; time < 120; time++) {
    const { status, headers } = await fetch(`${origin}/api/live`, { method: 'HEAD' })
    assert.deepEqual([status, headers.get('content-type')], [200, 'text/event-stream'])
  }
})

test('at most a hundred viewers may watch from one client address, others are not affected', {
  timeout: 60_000,
}, async () => {
  const stop = new AbortController()
  const watch = (address: string) =>
    fetch(`${origin}/api/live`, { headers: { 'x-forwarded-for': `1.2.3.4, ${address}` }, signal: stop.signal })
  const addresses = Array.from({ length: 101 }, (_, index) => `2001:db8::${index.toString(16)}`)
  const answers = await Promise.all(addresses.map(address => untilTaken(() => watch(address))))
  const refused = answers.filter(({ status }) => status !== 200)
  assert.equal(refused.length, 1)
  assert.equal(refused[0]!.status, 429)
  assert.equal(refused[0]!.headers.get('retry-after'), '10')
  assert.equal((await json(refused[0]!))['code'], 'too-many-viewers')
  assert.equal((await untilTaken(() => watch('2001:db8:0:1::1'))).status, 200)
  stop.abort()
  // The places of these viewers are free again as soon as the service notices that they left.
  const headers = { 'x-forwarded-for': '2001:db8::1' }
  while ((await fetch(`${origin}/api/live`, { method: 'HEAD', headers })).status !== 200);
})

test('history has the latest position per walker and step, and none outside the range', async () => {
  const key = newKey()
  const to = Date.now()
  const from = to - 3_600_000
  const walked = Array.from({ length: 90 }, (_, index) =>
    position(index + 1, { at: from + index * 1000, lat: 10 + index / 100 }),
  )
  assert.equal((await post(key, report(position(500, { at: from - 5000 }), ...walked))).status, 200)
  const page = await historyPage(from, from + 600_000)
  assert.equal(page.stepMs, 1000)
  assert.equal(page.moves.length, 90)
  const hour = await historyPage(from, to)
  assert.equal(hour.stepMs, 6000)
  const me = hour.walkers.findIndex(walker => idOf(key).startsWith(walker.key.replace('-', '').slice(0, 12)))
  const mine = hour.moves.filter(move => move[1] === me).map(move => move[2])
  assert.equal(mine.length, 15)
  assert.equal(mine[0], 10.05)
})

for (const query of [
  '',
  '?from=1',
  '?from=a&to=b',
  '?from=2&to=1',
  '?from=0&to=9999999999999',
  '?from=1&to=2&after=x',
  '?from=1&from=2&to=3',
]) {
  test(`history${query} answers 400`, async () => {
    assert.equal((await fetch(`${origin}/api/history${query}`)).status, 400)
  })
}

test('DELETE of a walker removes all data of the phone', async () => {
  const key = newKey()
  await post(key, report(position(1), position(2)))
  const answer = await fetch(`${origin}/api/walker`, { method: 'DELETE', headers: { authorization: `Bearer ${key}` } })
  assert.equal(answer.status, 204)
  assert.deepEqual(await rowsOf(key), [])
  assert.deepEqual(await database.query('SELECT 1 FROM walkers WHERE id = $1::uuid', [idOf(key)]), [])
  await post(key, report(position(3)))
  assert.deepEqual(await database.query('SELECT name FROM walkers WHERE id = $1::uuid', [idOf(key)]), [{ name: 'Ada' }])
})

test('pages have a strict content security policy and no secrets, and unknown paths get a 404', async () => {
  for (const path of ['/', '/shore', '/walk.js']) {
    const answer = await fetch(`${origin}${path}`)
    assert.equal(answer.status, 200)
    const policy = answer.headers.get('content-security-policy')!
    assert.match(policy, /default-src 'none'/)
    assert.doesNotMatch(policy, /unsafe|https?:|\*/)
    const text = await answer.text()
    assert.doesNotMatch(text, /postgres:|password/i)
    if (answer.headers.get('content-type')?.startsWith('text/html')) {
      assert.doesNotMatch(text, /<style|style="|<script(?![^>]*\bsrc=)|\son\w+=/, 'nothing inline')
    }
  }
  for (const path of ['/nothing', '/../package.json', '/%2e%2e/src/main.ts', '/%', '/tsconfig.json']) {
    assert.ok([400, 404].includes((await fetch(`${origin}${path}`)).status), path)
  }
})
