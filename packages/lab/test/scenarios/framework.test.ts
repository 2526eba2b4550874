/** The framework of all scenarios: names, verdicts, cores, and a whole run of a made-up scenario. */
import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { planOf } from '../../src/load/load-request.ts'
import { coresOf } from '../../src/launch/core-pinning.ts'
import { runScenarios } from '../../src/commands/run.ts'
import { nearestName } from '../../src/nearest-name.ts'
import { judge, runScenario } from '../../src/experiment/run-scenario.ts'
import { type Context, scenario } from '../../src/experiment/scenario.ts'
import type { ScenarioResult } from '../../src/report/result.ts'
import { allProcesses } from '../../src/processes/process-tree.ts'
import { foreignOf } from '../../src/processes/foreign-cpu.ts'
import { UserError } from '../../src/user-error.ts'

const progress = { status() {}, line() {}, clear() {} }

test('nearestName() finds the most similar name, or none if no name is similar', () => {
  const names = ['timeouts', 'domino', 'drip', 'burst']
  assert.equal(nearestName('timeout', names), 'timeouts')
  assert.equal(nearestName('Domnio', names), 'domino')
  assert.equal(nearestName('drop', names), 'drip')
  assert.equal(nearestName('tim', names), 'timeouts')
  assert.equal(nearestName('kubernetes', names), undefined)
})

test('coresOf() gives the server a core of its own; dependencies share that of the lab on two cores', () => {
  assert.equal(coresOf([0]), undefined)
  assert.deepEqual(coresOf([0, 1]), { server: 1, lab: 0, dependency: 0 })
  assert.deepEqual(coresOf([0, 1, 2, 3]), { server: 3, lab: 2, dependency: 1 })
})

test('planOf() sets arrivals and connections, with enough connections for a slow server', () => {
  const open = planOf({ url: 'http://x/', rate: 1000, durationMs: 5000 })
  assert.deepEqual(open.connections, { kind: 'keep-alive', count: 250, max: 15_000 })
  const closed = planOf({ url: 'http://x/', users: 500, durationMs: 5000 })
  assert.deepEqual(closed.arrival, { kind: 'closed', users: 500, durationMs: 5000, thinkMs: 0 })
  assert.deepEqual(planOf({ url: 'http://x/', rate: 1, durationMs: 1, fresh: true }).connections, { kind: 'fresh' })
})

test('a verdict is pass, fail, or not judged if unmeasured or if it needs quiet in a disturbed or brief run', () => {
  const expects = [
    { name: 'fast', judge: (ms: number) => ({ pass: ms < 10, measured: `${ms} ms` }) },
    { name: 'adds up', judge: () => ({ pass: true, measured: 'yes' }), needsQuiet: false },
    { name: 'never measured', judge: () => undefined },
  ]
  const verdicts = (ms: number, more: object) =>
    judge(expects, ms, { form: 'quick', incomplete: false, disturbed: undefined, ...more }).map(each => each.verdict)
  assert.deepEqual(verdicts(5, {}), ['pass', 'pass', 'not judged'])
  assert.deepEqual(verdicts(50, {}), ['fail', 'pass', 'not judged'])
  assert.deepEqual(verdicts(50, { disturbed: 'the machine was busy' }), ['not judged', 'pass', 'not judged'])
  assert.deepEqual(verdicts(50, { form: 'brief' }), ['not judged', 'pass', 'not judged'])
  const [busy] = judge(expects, 5, { form: 'quick', incomplete: false, disturbed: 'the machine was busy' })
  assert.equal(busy!.measured, '5 ms; the machine was busy')
})

test('foreign CPU time is the busy time of the cores minus that of our processes', () => {
  const reading = (atMs: number, busyMs: number, ownMs: number) => ({ atMs, busyMs, ownMs })
  assert.equal(foreignOf([reading(0, 0, 0)]), undefined)
  const found = foreignOf([reading(0, 0, 0), reading(2000, 1000, 1000), reading(4000, 3000, 2000)])
  assert.deepEqual(found, { mean: 0.25, worst: 0.5 })
})

interface Measured {
  answers: number
  pid: number
}

const made = (run: (context: Context, measured: Measured) => Promise<void>) =>
  scenario<Measured>({
    name: 'made-up',
    title: 'Made up',
    story: 'An app is asked.',
    published: [],
    arms: [{ name: 'bare', kind: 'bare', what: 'as it is' }],
    expects: [
      { name: 'it answers', needsQuiet: false, judge: m => ({ pass: m.answers > 0, measured: `${m.answers}` }) },
    ],
    blank: () => ({ answers: 0, pid: 0 }),
    run,
    view: m => ({ finding: `${m.answers} answers`, tables: [], plots: [] }),
  })

const options = (signal = new AbortController().signal) => ({
  form: 'brief' as const,
  commandLine: 'meltlab run made-up',
  labVersion: '0',
  progress,
  signal,
})

async function askBurst(context: Context, measured: Measured): Promise<void> {
  const app = await context.start({ name: 'the app', run: 'burst.js', core: 'server' })
  measured.pid = app.pid
  const watching = app.watch()
  const outcome = await context.load('bare', { url: app.origin, users: 1, durationMs: 300 })
  measured.answers = outcome.answered['200'] ?? 0
  const { peakRssBytes } = await watching.stop()
  assert.ok(peakRssBytes > 1e6)
}

const alive = async (pid: number): Promise<boolean> =>
  (await allProcesses()).some(row => row.pid === pid && row.state !== 'Z')

test('a run starts the app, loads it, judges the result, and leaves no process behind', async () => {
  const { result, failure } = await runScenario(made(askBurst), options())
  assert.equal(failure, undefined)
  assert.equal(result.incomplete, false)
  assert.deepEqual(
    result.verdicts.map(each => each.verdict),
    ['pass'],
  )
  assert.match(result.finding, /^[1-9]\d* answers$/)
  assert.equal(await alive((result.measured as Measured).pid), false)
})

test('an error in a run keeps what was measured, marks it incomplete, and ends the app', async () => {
  let undone = false
  const { result, failure } = await runScenario(
    made(async (context, measured) => {
      context.cleanUp(() => {
        undone = true
      })
      await askBurst(context, measured)
      throw new Error('the rest went wrong')
    }),
    options(),
  )
  assert.match(String(failure), /the rest went wrong/)
  assert.equal(result.incomplete, true)
  assert.match(result.why[0]!, /ended early: the rest went wrong/)
  assert.ok((result.measured as Measured).answers > 0)
  assert.equal(undone, true)
  assert.equal(await alive((result.measured as Measured).pid), false)
})

test('an abort ends a load at once', async () => {
  const controller = new AbortController()
  const { result, failure } = await runScenario(
    made(async (context, measured) => {
      const app = await context.start({ name: 'the app', run: 'burst.js', core: 'server' })
      measured.pid = app.pid
      setTimeout(() => controller.abort(new Error('enough')), 300)
      await context.load('bare', { url: app.origin, users: 1, durationMs: 60_000 })
    }),
    options(controller.signal),
  )
  assert.match(String(failure), /enough/)
  assert.equal(result.incomplete, true)
  assert.ok(result.elapsedMs < 20_000, `${result.elapsedMs} ms`)
  assert.equal(await alive((result.measured as Measured).pid), false)
})

test('a stopped run resumes: its parts become one result that keeps everything measured', async t => {
  const out = mkdtempSync(path.join(tmpdir(), 'meltlab-parts-'))
  t.after(() => rmSync(out, { recursive: true, force: true }))
  t.mock.method(process.stdout, 'write', () => true)
  t.mock.method(process.stderr, 'write', () => true)
  let stops = true
  const inParts = {
    ...made(async (context, measured) => {
      measured.answers++
      if (!stops) return
      await context.sleep(20)
      context.doubt('the first part was late')
      context.checkpoint()
      throw new Error('stopped')
    }),
    resumes: true as const,
  }
  const kept = path.join(out, 'kept')
  const run = (): Promise<void> => runScenarios([inParts], 'brief', { out, keep: kept })
  await assert.rejects(run(), /stopped/)
  stops = false
  await run()
  const result = JSON.parse(readFileSync(path.join(kept, 'made-up.json'), 'utf8')) as ScenarioResult
  assert.deepEqual(result.measured, { pid: 0, answers: 2 })
  assert.ok(result.why.includes('the first part was late'), result.why.join())
  assert.ok(result.elapsedMs >= 20, `${result.elapsedMs} ms`)
  assert.deepEqual(readdirSync(kept), ['made-up.json'])
})

test('the error for an app that does not start has the name of the app', async () => {
  const { failure } = await runScenario(
    made(async context => {
      await context.start({ name: 'the backend', run: 'no-such-file.js', core: 'dependency' })
    }),
    options(),
  )
  assert.match(String(failure), /the backend exited with code 1 before it listened/)
})

test('an app that answers too slowly is named in a UserError, with its last output', async () => {
  const slow = `require('http').createServer((request, response) => request.url === '/half' && response.write('{'))
    .listen(process.env.PORT, '127.0.0.1'); console.error('still loading')`
  for (const path of ['/never', '/half']) {
    const { failure } = await runScenario(
      made(async context => {
        const app = await context.start({
          name: 'the backend',
          run: [process.execPath, '-e', slow],
          core: 'dependency',
        })
        await app.ask(path, 500)
      }),
      options(),
    )
    assert.ok(failure instanceof UserError, String(failure))
    assert.match(
      failure.message,
      new RegExp(`^the backend did not answer ${path} within 0.5s; it is slow, or the machine`),
    )
    assert.match(failure.message, /its last output:\n {2}\| still loading/)
  }
})

test('a package that an app needs and meltlab lacks is requested before anything starts', async () => {
  const started: string[] = []
  const needy = { ...made(async () => void started.push('it')), needs: ['commander', 'no-such-package'] }
  await assert.rejects(
    runScenario(needy, options()),
    new UserError('made-up needs no-such-package, which meltlab does not include: npm install no-such-package'),
  )
  assert.deepEqual(started, [])
})

test('a scenario that fails does not stop the others, and is named at the end', async t => {
  const out = mkdtempSync(path.join(tmpdir(), 'meltlab-all-'))
  t.after(() => rmSync(out, { recursive: true, force: true }))
  t.mock.method(process.stdout, 'write', () => true)
  t.mock.method(process.stderr, 'write', () => true)
  const named = (name: string, run: () => Promise<void>) => ({ ...made(run), name, expects: [] })
  const broken = named('broken', () => Promise.reject(new UserError('the app did not start')))
  const whole = named('whole', async () => {})
  await assert.rejects(
    runScenarios([broken, whole], 'brief', { out }),
    new UserError('1 of 2 failed: broken; the other 1 completed', 1),
  )
  assert.match(readdirSync(out).join(), /-whole$/)
  await assert.rejects(runScenarios([broken], 'brief', { out }), new UserError('the app did not start'))
  // A table without a row shows nothing.
  const empty = {
    ...broken,
    view: () => ({ finding: '', plots: [], tables: [{ title: '', columns: [''], rows: [] }] }),
  }
  await assert.rejects(
    runScenarios([empty, broken], 'brief', { out }),
    new UserError('2 of 2 failed: broken, broken', 1),
  )
  assert.equal(readdirSync(out).length, 1)
})
