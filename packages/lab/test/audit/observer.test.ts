/** The pure parts of the observer: the function that a profile shows for a stall, and the app frame of a stack. */
import assert from 'node:assert/strict'
import type { Profiler } from 'node:inspector'
import path from 'node:path'
import { describe, it } from 'node:test'
import { framesOf, siteOf } from '../../src/audit/observer/call-site.ts'
import { Observations } from '../../src/audit/observer/observations.ts'
import { heldBy } from '../../src/audit/observer/loop.ts'

const node = (id: number, functionName: string, url: string, children: number[] = []): Profiler.ProfileNode => ({
  id,
  callFrame: { functionName, url, scriptId: '', lineNumber: id, columnNumber: 0 },
  children,
})
const nodes = [
  node(1, '(root)', '', [2, 3, 4, 7]),
  node(2, '(idle)', ''),
  node(3, '(garbage collector)', ''),
  node(4, 'emit', 'node:events', [5]),
  node(5, 'handler', '/app/a.js', [6]),
  node(6, 'pbkdf2Sync', 'node:crypto'),
  node(7, 'other', '/app/b.js'),
]
/** One sample per millisecond. */
const profile = (samples: number[]): Profiler.Profile => ({
  nodes,
  startTime: 0,
  endTime: 0,
  samples,
  timeDeltas: samples.map(() => 1000),
})
const times = (count: number, id: number): number[] => Array.from({ length: count }, () => id)
const own = ({ callFrame }: { readonly callFrame: { readonly url: string } }): boolean =>
  callFrame.url.startsWith('/app')
const held = (samples: number[]) => {
  const stall = { from: 0, to: (samples.length + 1) * 1000, path: '/' }
  return heldBy(profile(samples), [stall], own).map(({ node, calls, tookMs }) => [
    node.callFrame.functionName,
    calls?.callFrame.functionName,
    Math.round(tookMs),
  ])
}

describe('heldBy', () => {
  it('names the function of the app, and the function it called', () => {
    assert.deepEqual(held([...times(10, 2), ...times(80, 6)]), [['handler', 'pbkdf2Sync', 80]])
    assert.deepEqual(held([...times(10, 2), ...times(80, 5)]), [['handler', undefined, 80]])
  })

  it('names no function if several share the time or the garbage collector ran', () => {
    assert.deepEqual(held([...times(40, 6), ...times(40, 7)]), [])
    assert.deepEqual(held(times(80, 3)), [])
  })

  it('considers samples within the stall only', () => {
    const both = profile([...times(50, 7), ...times(100, 6)])
    const [found] = heldBy(both, [{ from: 51_000, to: 101_000, path: '/' }], own)
    assert.equal(found?.node.callFrame.functionName, 'handler')
    assert.equal(found?.tookMs, 50)
    assert.deepEqual(heldBy(both, [], own), [])
    assert.deepEqual(heldBy({ nodes: [], startTime: 0, endTime: 0 }, [{ from: 0, to: 9, path: '/' }], own), [])
  })
})

describe('the call site', () => {
  const site = (lines: readonly string[], besides: readonly string[] = []) =>
    siteOf(framesOf(['Error', ...lines.map(line => `    at ${line}`)].join('\n')), besides)
  const app = path.resolve('src/a.js')

  it('is the innermost frame of the app itself, in CommonJS and in ES modules', () => {
    assert.equal(site([`request (node:http:1:1)`, `load (${app}:3:7)`, `main (${app}:9:1)`]).where, 'src/a.js:3 (load)')
    assert.equal(site([`async load (file://${app}:3:7)`]).where, 'src/a.js:3 (load)')
    assert.equal(site([`Object.<anonymous> (${app}:3:7)`]).where, 'src/a.js:3')
  })

  it('takes the name of its caller if its own function is anonymous', () => {
    assert.equal(site([`${app}:3:7`, 'new Promise (<anonymous>)', `load (${app}:2:1)`]).where, 'src/a.js:3 (load)')
  })

  it('is in the nearest package if no frame is in the app, but not in the called package itself', () => {
    const frames = ['send (/app/node_modules/pg/lib/client.js:1:1)', 'run (/app/node_modules/@a/orm/b.js:2:1)']
    assert.deepEqual(site(frames, ['pg']), { where: '@a/orm/b.js:2 (run)', own: false, throughMeltproof: false })
    assert.equal(site(frames.slice(0, 1), ['pg']).where, 'pg/lib/client.js:1 (send)')
    assert.equal(site(['node:internal/timers:1:1']).where, '')
  })
})

it('the number of distinct tallies is bounded', () => {
  const observations = new Observations()
  for (let i = 0; i < 1000; i++) observations.add('fetch-unbounded', `http://host-${i}`, 'a.js:1')
  observations.add('fetch-unbounded', 'http://host-0', 'a.js:1', 7)
  assert.equal(observations.tallies().length, 200)
  assert.deepEqual([observations.tallies()[0]?.times, observations.tallies()[0]?.longestQueue], [2, 7])
})
