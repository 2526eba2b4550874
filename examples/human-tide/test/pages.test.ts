/** The parts of the pages that need no browser. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { Crowd } from '../public/crowd.js'
import { lastNotAfter, Replay } from '../public/replay.js'
import { Sender } from '../public/sender.js'
import { surroundings, View } from '../public/view.js'

test('screen coordinates convert to the world and back', () => {
  const view = new View()
  view.resize(800, 600)
  view.fit([
    { lat: 54, lon: 8 },
    { lat: 54.01, lon: 8.03 },
  ])
  for (const [x, y] of [
    [0, 0],
    [400, 300],
    [799, 1],
  ] as const) {
    const { lat, lon } = view.toWorld(x, y)
    const [backX, backY] = view.toScreen(lat, lon)
    assert.ok(Math.abs(backX - x) < 1e-6 && Math.abs(backY - y) < 1e-6)
  }
  const [x, y] = view.toScreen(54.01, 8.03)
  assert.ok(x > 400 && x < 800 && y < 300 && y > 0, 'north is up, east is right, all of it on the screen')
})

test('zooming keeps the place under the pointer', () => {
  const view = new View()
  view.resize(800, 600)
  view.fit([
    { lat: 54, lon: 8 },
    { lat: 54.02, lon: 8.02 },
  ])
  const before = view.toWorld(100, 500)
  view.zoom(3, 100, 500)
  const after = view.toWorld(100, 500)
  assert.ok(Math.abs(before.lat - after.lat) < 1e-7 && Math.abs(before.lon - after.lon) < 1e-5)
})

test('the scale bar shows a round number', () => {
  const view = new View()
  view.resize(800, 600)
  view.scale = 0.37
  const { text, pixels } = view.bar(120)
  assert.equal(text, '200 m')
  assert.ok(Math.abs(pixels - 74) < 0.01)
})

test('a place far from the shoreline is not on it', () => {
  const { holds } = surroundings([
    { lat: 54, lon: 8 },
    { lat: 54.01, lon: 8.1 },
  ])
  assert.equal(holds({ lat: 54.04, lon: 8.12 }), true)
  assert.equal(holds({ lat: 35, lon: 139 }), false)
})

test('walkers of a crowd move smoothly, leave, and are replaced by a snapshot', () => {
  const crowd = new Crowd()
  crowd.replace({ walkers: [[1, 54, 8, 0, 'Ada']] }, 0)
  crowd.update(
    {
      moved: [
        [1, 54.001, 8, 0, 'Ada'],
        [2, 54, 8, 0, 'Bo'],
      ],
      left: [],
    },
    1000,
  )
  const ada = crowd.walkers.get(1)!
  assert.deepEqual(
    [1000, 1500, 9000].map(now => Number(crowd.at(ada, now)[0].toFixed(4))),
    [54, 54.0005, 54.001],
  )
  crowd.update({ moved: [], left: [2] }, 2000)
  // A silent walker is still drawn, but does not count as walking.
  assert.deepEqual([crowd.walking(16_000).length, crowd.walking(16_001).length, crowd.walkers.size], [1, 0, 1])
  crowd.replace({ walkers: [[3, 1, 1, 0, 'Cleo', [1.1, 1, 1.05, 1]]] }, 3000)
  assert.deepEqual(crowd.walkers.get(3)!.trail, [
    [1.1, 1],
    [1.05, 1],
    [1, 1],
  ])
  assert.deepEqual([...crowd.walkers.keys()], [3])
})

test('a replay interpolates positions, and hides a walker after a gap', () => {
  const replay = new Replay(0, 100_000)
  const walkers = [{ key: 'a', name: 'Ada' }]
  replay.take({
    stepMs: 1000,
    walkers,
    moves: [
      [10, 0, 54, 8],
      [12, 0, 54.2, 8],
    ],
    next: 40,
  })
  replay.take({ stepMs: 1000, walkers, moves: [[60, 0, 55, 8]], next: null })
  const lat = (step: number) => replay.at(step)[0]?.lat.toFixed(2)
  assert.deepEqual([9, 10, 11, 12, 20, 40, 60].map(lat), [
    undefined,
    '54.00',
    '54.10',
    '54.20',
    '54.20',
    undefined,
    '55.00',
  ])
  assert.deepEqual(
    [-1, 0, 4, 9].map(limit => lastNotAfter([0, 2, 4, 8], limit)),
    [-1, 0, 2, 3],
  )
})

interface Sent {
  readonly name: string
  readonly sentAt: number
  readonly positions: readonly { readonly seq: number; readonly at: number }[]
}

/** Runs a phone whose server gives `answers` one after another, and then 200 to everything. */
async function phone(
  answers: ((report: Sent) => Response | Error)[],
  kept: number,
  until: (sender: Sender) => boolean,
  name = () => 'Ada',
) {
  let positions = Array.from({ length: kept }, (_, index) => ({
    seq: index + 1,
    at: 1000 + index,
    lat: 54,
    lon: 8,
    accuracy: 5,
  }))
  const sent: Sent[] = []
  const outbox = {
    oldest: async (count = 100, after = 0) => positions.filter(({ seq }) => seq > after).slice(0, count),
    remove: async (seqs: readonly number[]) => {
      positions = positions.filter(({ seq }) => !seqs.includes(seq))
    },
  }
  const sender = new Sender({
    outbox,
    name,
    now: () => 5000,
    async post(given: object) {
      const report = given as Sent
      sent.push(report)
      const answer = answers.shift()?.(report) ?? Response.json({ stored: report.positions.length, known: 0 })
      if (answer instanceof Error) throw answer
      return answer
    },
    onState: () => {
      if (until(sender)) void sender.stop()
      else setImmediate(() => sender.kick()) // no waiting in tests
    },
  })
  await sender.run()
  return { sent, left: positions.map(({ seq }) => seq), state: sender.state }
}
const stored = (count: number) => (sender: Sender) => sender.state.stored >= count

test('no position is removed from the phone before it is acknowledged', async () => {
  const problem = (status: number) => () => Response.json({}, { status, headers: { 'retry-after': '1' } })
  const lost = () => new TypeError('Failed to fetch')
  const { sent, left } = await phone([lost, problem(503), problem(429), lost], 3, stored(3))
  assert.deepEqual(left, [])
  assert.equal(sent.length, 5)
  for (const report of sent)
    assert.deepEqual(
      report.positions.map(each => each.seq),
      [1, 2, 3],
    )
})

test('a position that the server rejects does not hold up the others', async () => {
  const bad = () => Response.json({ code: 'bad-positions', invalid: [{ index: 1 }] }, { status: 400 })
  const { left, state } = await phone([bad], 3, stored(2))
  assert.deepEqual([left, state.stored, state.unusable], [[], 2, 1])
})

test('a position that the database refuses stays on the phone, and those around it are stored', async () => {
  const notStorable = (report: Sent) =>
    report.positions.some(({ seq }) => seq === 3)
      ? Response.json({ code: 'not-storable', title: 'can not be stored' }, { status: 400 })
      : Response.json({ stored: report.positions.length, known: 0 })
  const { left, state, sent } = await phone(Array(7).fill(notStorable), 6, stored(5))
  assert.deepEqual([left, state.stored, state.unusable], [[3], 5, 1])
  assert.deepEqual(
    sent.map(({ positions }) => positions.length),
    [6, 3, 2, 4, 2, 1, 3],
  )
})

test('after a refused name nothing is discarded, the page shows why, and the next name is used', async () => {
  const refuse = (report: Sent) =>
    report.name === 'Ada'
      ? Response.json({ stored: report.positions.length, known: 0 })
      : Response.json({ code: 'bad-name', title: 'Another one, please' }, { status: 400 })
  let name = 'Eve'
  const hasNewName = ({ state }: Sender) => {
    if (state.signal === 'refused') {
      assert.deepEqual([state.code, state.detail], ['bad-name', 'Another one, please'])
      name = 'Ada'
    }
    return state.stored === 2
  }
  const { sent, left, state } = await phone([refuse, refuse], 2, hasNewName, () => name)
  assert.deepEqual([sent.map(report => report.name), left, state.code], [['Eve', 'Ada'], [], ''])
})

test('a clock that is years off is corrected in what is sent', async () => {
  const wrong = () => Response.json({ code: 'clock-wrong', serverTime: 900_005_000 }, { status: 400 })
  const { sent } = await phone([wrong], 1, stored(1))
  assert.deepEqual([sent[1]?.sentAt, sent[1]?.positions[0]?.at], [900_005_000, 900_001_000])
})

test('a report that is too large is sent in smaller parts, completely', async () => {
  const tooLarge = (report: Sent) =>
    report.positions.length > 30
      ? Response.json({}, { status: 413 })
      : Response.json({ stored: report.positions.length, known: 0 })
  const { left } = await phone(Array(3).fill(tooLarge), 60, stored(60))
  assert.deepEqual(left, [])
})

test('positions that were stored before are acknowledged, and not sent again', async () => {
  const known = () => Response.json({ stored: 1, known: 2 })
  const { sent, left, state } = await phone([known], 3, stored(3))
  assert.deepEqual([sent.length, left, state.stored], [1, [], 3])
})

test('a stopped sender waits for the report under way, sends no more, and does not wait for a retry', async () => {
  let answer: (response: Response) => void = () => {}
  let posts = 0
  const removed: number[] = []
  const sender = new Sender({
    outbox: {
      oldest: async () => [{ seq: 1, at: 1, lat: 54, lon: 8, accuracy: 5 }],
      remove: async seqs => void removed.push(...seqs),
    },
    name: () => 'Ada',
    post: () => {
      posts++
      return new Promise<Response>(resolve => {
        answer = resolve
      })
    },
  })
  void sender.run()
  await turn()
  let ended = false
  const stopped = sender.stop().then(() => {
    ended = true
  })
  await turn()
  assert.deepEqual([posts, ended], [1, false])
  const began = performance.now()
  answer(Response.json({}, { status: 503, headers: { 'retry-after': '60' } }))
  await stopped
  assert.ok(performance.now() - began < 5000, 'not the minute the server asked for')
  assert.deepEqual([posts, removed], [1, []])
})

test('a response that is not from the service, such as a login page, acknowledges nothing', async () => {
  const portal = () => new Response('<html>Welcome</html>', { status: 200 })
  const { sent, left } = await phone([portal], 1, stored(1))
  assert.equal(sent.length, 2)
  assert.deepEqual(left, [])
})
