/** The levels that `meltlab recover` tries, its findings, and the inputs that it refuses. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import net from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { LEVELS, limitsView, nextLevel, shapeOf } from '../../src/melt/limits.ts'
import type { Limit } from '../../src/melt/measured.ts'
import { carrying, runCli } from '../run-cli.ts'
import { arms, madeMeasured } from './fixture.ts'
import { app } from './meltlab.ts'

const [bare, guarded] = [arms[0], arms[1]]

/** The trials for an app that does not recover from level `from` and above. */
function search(kind: Limit['kind'], from: number): Limit['tried'] {
  const tried: Limit['tried'][number][] = []
  for (let level = nextLevel(LEVELS[kind], tried); level !== undefined; level = nextLevel(LEVELS[kind], tried)) {
    tried.push({ level, backAfterS: level < from ? 1 : null })
  }
  return tried
}

test('the search finds the smallest level without recovery in at most four trials, and needs one if the app always recovers', () => {
  for (const kind of ['spike', 'retries', 'outage'] as const) {
    for (const from of LEVELS[kind]) {
      const tried = search(kind, from)
      assert.ok(tried.length <= 4, `${from}: ${tried.length}`)
      assert.equal(Math.min(...tried.filter(({ backAfterS }) => backAfterS === null).map(({ level }) => level)), from)
      const below = LEVELS[kind].filter(level => level < from).at(-1)
      assert.ok(below === undefined || tried.some(({ level }) => level === below), 'the one below was tried')
      assert.equal(new Set(tried.map(({ level }) => level)).size, tried.length)
    }
    assert.deepEqual(search(kind, Number.POSITIVE_INFINITY), [{ level: LEVELS[kind].at(-1), backAfterS: 1 }])
  }
})

test('shapeOf() varies the spike, the retries or the silence, whichever is searched for', () => {
  assert.deepEqual(shapeOf('spike', 5, 2, 10), { beforeS: 2, spike: 5, spikeS: 3, afterS: 13, retries: 0 })
  assert.deepEqual(shapeOf('retries', 3, 2, 10), { beforeS: 2, spike: 2, spikeS: 3, afterS: 13, retries: 3 })
  const outage = { beforeS: 3, spike: 0.8, spikeS: 5, afterS: 13, retries: 0, isOutage: true }
  assert.deepEqual(shapeOf('outage', 5, 2, 10), outage)
})

const limits: Limit[] = [
  { arm: 'bare', kind: 'spike', spike: 0, tried: search('spike', 2), unsure: null },
  { arm: 'protected', kind: 'spike', spike: 0, tried: search('spike', 99), unsure: null },
  { arm: 'bare', kind: 'retries', spike: 1.5, tried: search('retries', 1), unsure: null },
  { arm: 'protected', kind: 'retries', spike: 1.5, tried: [], unsure: 'it was late before the spike' },
]

test('the view has the verdict on each arm, the finding, and a table of the levels tried', () => {
  const { standings, finding, tables } = limitsView(madeMeasured({ limits }), [bare, guarded], 10_000)
  assert.equal(
    finding,
    'bare: not back from 3 s at 2x and not back from 3 s at 1.5x from clients that retry once; protected: back from 3 s at 20x.',
  )
  assert.deepEqual(
    standings!.map(({ arm, says, tone, figure }) => [arm, says, tone, figure]),
    [
      ['bare', 'not back from 2x', 'bad', '1.5x'],
      ['protected', 'comes back', 'good', '20x'],
    ],
  )
  assert.match(tables[0]!.title, /not back within 10 s/)
  assert.deepEqual(tables[0]!.rows[0]!.cells, [
    'bare',
    'not back from 3 s at 2x',
    '20: never, 3: never, 2: never, 1.5: 1 s',
  ])
  assert.equal(tables[0]!.rows[3]!.cells[1], 'it was late before the spike')
})

test('an arm that comes back from every spike, and not from the silence of its dependency, does not come back', () => {
  const outage = (from: number): Limit => ({ ...limits[1]!, kind: 'outage', tried: search('outage', from) })
  const view = (from: number) =>
    limitsView(madeMeasured({ limits: [limits[1]!, outage(from)] }), [bare, guarded], 10_000)
  assert.equal(view(5).finding, 'protected: back from 3 s at 20x and not back from 5 s without its dependency.')
  assert.deepEqual(
    [5, 99].map(from => view(from).standings!.map(({ says, tone }) => [says, tone])),
    [[['not back from 5 s without its dependency', 'bad']], [['comes back', 'good']]],
  )
})

test('an arm comes back only if every search could be finished, and does not if any level was lost', () => {
  const spike = limits[1]!
  const outage = (tried: Limit['tried'], unsure: string | null = 'busy'): Limit => ({
    ...{ arm: 'protected', kind: 'outage', spike: 0, tried, unsure },
  })
  const says = (...made: Limit[]) =>
    limitsView(madeMeasured({ limits: made }), [bare, guarded], 10_000).standings!.map(each => [each.says, each.tone])
  assert.deepEqual(says(spike, outage([])), [['no verdict', 'none']])
  assert.deepEqual(says(spike, outage([{ level: 20, backAfterS: null }])), [
    ['not back from 20 s without its dependency', 'bad'],
  ])
  assert.deepEqual(says({ ...spike, tried: [], unsure: 'busy' }, outage([{ level: 20, backAfterS: null }], null)), [
    ['not back from 20 s without its dependency', 'bad'],
  ])
  assert.deepEqual(says({ ...spike, tried: [{ level: 20, backAfterS: null }], unsure: 'busy' }), [
    ['not back from 20x', 'bad'],
  ])
})

test('there is no verdict if the capacity drifted or fell below the load', () => {
  const { capacity } = madeMeasured()
  const why = (more: object): string | undefined =>
    limitsView(madeMeasured({ limits, capacity: { ...capacity!, ...more } }), [bare, guarded], 10_000).unjudged
  assert.equal(why({}), undefined)
  assert.match(why({ before: 200, after: 120 })!, /drifted/)
  assert.match(why({ before: 200, after: 170 })!, /fell until 0.8x was too much/)
  assert.match(limitsView(madeMeasured(), [bare, guarded], 10_000).finding, /^Nothing was measured/)
})

for (const [what, args, words] of [
  ['no command', [], /^meltlab: a command is needed: meltlab recover/],
  [
    '--within in fractions of a second',
    ['--within', '1500ms', '--', 'node', 'a.js'],
    /--within must be whole seconds, at most 60s, got 1500ms/,
  ],
  [
    '--dependency without its variable',
    ['--dependency', 'NOT_SET', '--', 'node', 'a.js'],
    /--dependency NOT_SET: NOT_SET is not set; set it, or give a variable with/,
  ],
  [
    'a dependency that nothing answers for',
    ['--dependency', 'DB=127.0.0.1:1', '--within', '1s', '--', 'node', app('pool')],
    /--dependency DB: nothing accepts connections at 127\.0\.0\.1:1 \(ECONNREFUSED\)/,
  ],
  ['--within without a unit', ['--within', '10', '--', 'node', 'a.js'], /--within needs a unit/],
] as const) {
  test(`meltlab recover refuses ${what}`, async () => {
    const { code, stdout, stderr } = await runCli(['recover', ...args])
    assert.deepEqual([code, stdout], [2, ''])
    assert.match(stderr, words)
  })
}

test('meltlab recover refuses a dependency to which the command never connects', async () => {
  const server = net.createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  try {
    const { port } = server.address() as net.AddressInfo
    const out = mkdtempSync(path.join(os.tmpdir(), 'meltlab-test-'))
    const { code, stderr } = await runCli(
      ['recover', '--out', out, '--dependency', `DB=redis://me:secret@127.0.0.1:${port}/0`, '--', 'node', app('pool')],
      {},
    )
    rmSync(out, { recursive: true, force: true })
    assert.equal(code, 2, stderr)
    assert.doesNotMatch(stderr, /secret/)
    assert.match(
      stderr,
      /the command never connected to 127\.0\.0\.1:\d+; DB in its environment has this address: does it read DB\?/,
    )
  } finally {
    server.close()
  }
})

/** Answers each line after 50 ms, ten at a time: 200 per second. */
function pooled(): net.Server {
  let free = 10
  let waiting: net.Socket[] = []
  const hold = (socket: net.Socket): void => {
    setTimeout(() => {
      socket.write('!\n')
      const next = waiting.shift()
      if (next === undefined) free++
      else hold(next)
    }, 50)
  }
  return net.createServer(socket => {
    socket.on('error', () => {})
    socket.on('close', () => {
      waiting = waiting.filter(each => each !== socket)
    })
    socket.on('data', chunk => {
      for (const byte of chunk) {
        if (byte !== 10) continue
        if (free === 0) waiting.push(socket)
        else {
          free--
          hold(socket)
        }
      }
    })
  })
}

test('Ctrl-C keeps what was measured, without passwords, marks it incomplete, and leaves no process behind', async t => {
  const dependency = pooled().listen(0, '127.0.0.1')
  await once(dependency, 'listening')
  t.after(() => dependency.close())
  const { port } = dependency.address() as net.AddressInfo
  const out = mkdtempSync(path.join(os.tmpdir(), 'meltlab-test-'))
  t.after(() => rmSync(out, { recursive: true, force: true }))
  let pressed = false
  const given = ['--dependency', `DB=redis://me:secret@127.0.0.1:${port}/0`, '--within', '1s']
  const ended = await runCli(['recover', '--json', '--out', out, ...given, '--', 'node', app('asks-dependency')], {
    mark: path.basename(out),
    onStderr(text, kill) {
      if (!pressed && /^bare: /m.test(text)) {
        pressed = true
        kill('SIGINT')
      }
    },
  })
  assert.equal(ended.code, 130, ended.stderr)
  assert.deepEqual(await carrying(path.basename(out)), [])
  const [folder, ...others] = readdirSync(out)
  assert.deepEqual(others, [])
  const { incomplete, measured, conditions } = JSON.parse(ended.stdout)
  assert.deepEqual([incomplete, measured.limits[0].arm, measured.limits.length], [true, 'bare', 1])
  assert.match(conditions.commandLine, /--dependency 'DB=redis:\/\/…@127\.0\.0\.1:\d+\/0'/)
  const written = readdirSync(path.join(out, folder!)).map(file => readFileSync(path.join(out, folder!, file), 'utf8'))
  for (const text of [ended.stdout, ended.stderr, ...written]) assert.ok(!text.includes('secret'), text.slice(0, 500))
})
