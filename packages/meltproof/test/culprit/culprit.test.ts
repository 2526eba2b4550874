/**
 * Real stalls in a process with meltproof/register. On a machine without free CPU the place of a stall may be unknown,
 * but a reported line is never wrong.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { after, describe, it } from 'node:test'
import { pathToFileURL } from 'node:url'
import { buildSync } from 'esbuild'
import { freePort } from '../../../lab/src/launch/free-port.ts'
import { MeltproofError } from '../../src/errors.ts'
import { watchStalls } from '../../src/culprit/index.ts'
import type { CulpritRecord } from '../../src/record.ts'
import { type Child, get, IMPORT, start } from '../register/child.ts'
import { eventually } from '../server/harness.ts'

interface Answer {
  readonly records: readonly Partial<CulpritRecord>[]
  readonly warnings: readonly string[]
  readonly early: readonly string[]
  /** The functions of the app's own CPU profile. */
  readonly sampled?: readonly string[]
  readonly inspectorUrl?: string
}

/** Time limit for one named stall, ms. On a busy machine the watcher gets no core during many stalls. */
const NAMED_WITHIN_MS = 60_000
/** Attempts of a test: on a busy machine a thread may get no core while the other thread waits for it. */
const ATTEMPTS = 3
const APPS = join(import.meta.dirname, 'apps')
const scratch = mkdtempSync(join(tmpdir(), 'meltproof-culprit-'))
after(() => rmSync(scratch, { recursive: true }))
/** Node 25 and later need this flag under `--permission`. Earlier versions do not have it. */
const ALLOW_NET = process.allowedNodeEnvironmentFlags.has('--allow-net') ? ['--allow-net'] : []

function startApp(variables: Record<string, string>, node: readonly string[] = []): Child {
  return start('../../culprit/apps/stalls.mjs', { node: [...node, ...IMPORT], env: variables })
}

async function ask(port: number, form: string): Promise<Answer> {
  return JSON.parse(await get(port, `/${form}`)) as Answer
}

/** Returns the line that an app marks with `// line: FORM`, as `FILE:LINE`. */
function lineOf(form: string): string {
  for (const name of readdirSync(APPS)) {
    const lines = readFileSync(join(APPS, name), 'utf8').split('\n')
    const at = lines.findIndex(line => line.endsWith(`// line: ${form}`))
    if (at !== -1) return `${name}:${at + 1}`
  }
  throw new Error(`no line is marked as ${form}`)
}

/** Repeats the request until its stall has this place. Every line reported before must be right too. */
async function named(port: number, form: string, place: RegExp): Promise<Answer & { readonly place: string }> {
  const seen: unknown[] = []
  for (const untilMs = Date.now() + NAMED_WITHIN_MS; Date.now() < untilMs; ) {
    const answer = await ask(port, form)
    for (const { file, line, toMs, fromMs, place: found } of answer.records) {
      if (toMs! - fromMs! < 400) continue
      if (file !== undefined) assert.equal(`${basename(file)}:${line}`, lineOf(form))
      if (place.test(found!)) return { ...answer, place: found! }
      seen.push(found)
    }
  }
  throw new Error(`${form} was not named ${place} once in ${NAMED_WITHIN_MS} ms, but ${JSON.stringify(seen)}`)
}

/** Compiles the TypeScript app to one line of JavaScript, with a separate source map. */
function compiled(): string {
  const outfile = join(scratch, 'typed.mjs')
  buildSync({
    ...{ entryPoints: [join(APPS, 'typed.ts')], outfile },
    ...{ format: 'esm', sourcemap: true, minifyWhitespace: true },
  })
  return pathToFileURL(outfile).href
}

/**
 * Resolves with the lines about long stalls once there are `count` of them or the process has ended. Ignores warnings
 * about other stalls, which occur on a busy machine.
 */
function linesOf({ process: { stderr } }: Child, count: number): Promise<string[]> {
  return new Promise(resolve => {
    let text = ''
    const found = (): string[] => text.match(/^.* has been stalled for .*$(?=\n)/gm) ?? []
    stderr!.on('end', () => resolve(found()))
    stderr!.on('data', chunk => {
      text += chunk
      if (found().length >= count) resolve(found())
    })
  })
}

describe('MELTPROOF_CULPRIT=on', () => {
  for (const [form, place] of Object.entries({
    loop: /^loop, .*:\d+$/,
    regex: /^regex, .* \(regular expression\)$/,
    json: /^json, .* \(JSON\.parse of \d\d MB\)$/,
    later: /^later, /,
    write: /^write, .* \(fs\.writeFileSync\)$/,
    typed: /^typed, .*typed\.ts:\d+$/,
    late: /late\.cjs:\d+ \(loading a module\)$/,
    imported: /late\.mjs:\d+ \(loading a module\)$/,
    garbage: /^garbage collection$/,
  })) {
    it(`names the line and the request of a stall: ${form}`, async () => {
      const child = startApp({ MELTPROOF_CULPRIT: 'on', FORM: form, TYPED: form === 'typed' ? compiled() : '' })
      const { records } = await named(await child.port(), form, place)
      // Node 22 knows the request only until the first await.
      const isKnown = !['later', 'imported'].includes(form) || Number(process.versions.node.split('.')[0]) >= 24
      const routes = records.flatMap(({ file, route }) => (file === undefined ? [] : [route]))
      if (form !== 'garbage') assert.ok(routes.includes(isKnown ? `GET /${form}` : undefined), JSON.stringify(records))
      child.process.kill('SIGKILL')
    })
  }

  it('names the place in explain(), in stats() and in the metrics of the admin port', async () => {
    const admin = await freePort()
    const child = startApp({ MELTPROOF_CULPRIT: 'on', MELTPROOF_ADMIN: `127.0.0.1:${admin}` })
    const port = await child.port()
    await eventually('the admin port listens', () => get(admin, '/ready').then(Boolean, () => false))
    let place: string
    let explained: string
    // On a busy machine the last stall may have been another one.
    do {
      ;({ place } = await named(port, 'loop', /stalls\.mjs/))
      explained = await get(admin, '/explain')
    } while (!explained.includes(`for GET /loop: ${place}.\n`))
    assert.match(explained, /The last stall of the event loop, \d+\.\d s ago: \d+ ms for GET \/loop: loop, /)
    const { stalls } = JSON.parse(await get(admin, '/stats')) as { stalls: Record<string, number> }
    assert.ok(stalls[place]! >= 0.4, JSON.stringify(stalls))
    const metrics = (await get(admin, '/metrics')).split('\n')
    const label = `meltproof_stall_seconds_total{place="${place}"} `
    assert.ok(Number(metrics.find(line => line.startsWith(label))?.slice(label.length)) >= 0.4, metrics.join('\n'))
    child.process.kill('SIGKILL')
  })

  for (const [header, value, said] of [
    [
      'traceparent',
      '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
      'trace 0af7651916cd43dd8448eb211c80319c',
    ],
    ['x-request-id', '7b3e-1', 'request 7b3e-1'],
    ['x-request-id', 'two words', undefined],
  ] as const) {
    it(`names the request that ran by its header ${header}: ${value}`, async () => {
      const child = startApp({ MELTPROOF_CULPRIT: 'on' })
      const port = await child.port()
      const traced = async (): Promise<Answer> => {
        const [response] = await once(http.get({ port, path: '/loop', headers: { [header]: value } }), 'response')
        return JSON.parse((await response.toArray()).join('')) as Answer
      }
      let answer: Answer
      do answer = await traced()
      while (!answer.records.some(({ route }) => route === 'GET /loop'))
      const { traceId, requestId } = answer.records.find(({ route }) => route === 'GET /loop')!
      assert.deepEqual([traceId && `trace ${traceId}`, requestId && `request ${requestId}`].find(Boolean), said)
      const warning = answer.warnings.find(text => text.includes('GET /loop'))!
      assert.ok(warning.includes(`for GET /loop${said === undefined ? '' : ` (${said})`}: `), warning)
      child.process.kill('SIGKILL')
    })
  }

  it('reports the line of a stall that does not end, on stderr after five seconds', async () => {
    let at: string | undefined
    for (let attempt = 0; attempt < ATTEMPTS && at !== `forever ${join(APPS, lineOf('forever'))}`; attempt++) {
      const child = startApp({ MELTPROOF_CULPRIT: 'on' })
      get(await child.port(), '/forever').catch(() => undefined)
      const [line = ''] = await linesOf(child, 1)
      child.process.kill('SIGKILL')
      at = /^meltproof: the event loop has been stalled for 5 s, at (.*)$/.exec(line)?.[1]
      // On a busy machine the main thread may not have answered.
      assert.ok(at === 'unknown' || at === `forever ${join(APPS, lineOf('forever'))}`, line)
    }
    assert.notEqual(at, 'unknown')
  })

  it('reports such a stall once for each of the times', async () => {
    const child = start('../../culprit/apps/lasting.ts', { node: ['--no-warnings'] })
    const lines = await linesOf(child, 3)
    child.process.kill('SIGKILL')
    assert.deepEqual(
      lines.map(line => line.replace(/at (?:unknown|spin .*)$/, 'at')),
      [0.2, 0.4, 0.6].map(seconds => `meltproof: the event loop has been stalled for ${seconds} s, at`),
    )
    assert.equal((await child.ended).stderr.match(/ has been stalled for /g)?.length, 3)
  })

  it('runs no microtask or nextTick callback before the blocking handler ends, and ignores debugger statements', async () => {
    const child = startApp({ MELTPROOF_CULPRIT: 'on' })
    const { early, warnings } = await named(await child.port(), 'loop', /stalls\.mjs/)
    assert.equal(early[0], 'end')
    assert.deepEqual(early.toSorted(), ['end', 'promise', 'tick'])
    assert.match(warnings.join('\n'), /The event loop stalled for \d+ ms for GET \/loop: loop, .*stalls\.mjs:\d+/)
    child.process.kill('SIGKILL')
  })

  it('leaves an inspector session of the app and its CPU profile alone, and opens no port', async () => {
    const child = startApp({ MELTPROOF_CULPRIT: 'on', OWN_SESSION: 'on' })
    const port = await child.port()
    await named(port, 'loop', /stalls\.mjs/)
    const { sampled, inspectorUrl } = await ask(port, 'profile')
    assert.ok(sampled!.includes('loop'), JSON.stringify(sampled))
    assert.equal(inspectorUrl, undefined)
    child.process.kill('SIGTERM')
    assert.deepEqual((await child.ended).code, 0)
  })

  it('names no stall while the app has opened the inspector, with one warning, and names them again afterwards', async () => {
    const child = startApp({ MELTPROOF_CULPRIT: 'on' })
    const port = await child.port()
    assert.match((await ask(port, 'open')).inspectorUrl!, /^ws:/)
    const paused = (texts: readonly string[]): number => texts.filter(text => /does not name stalls/.test(text)).length
    await eventually('it warns', async () => paused((await ask(port, '')).warnings) > 0)
    for (let i = 0; i < 3; i++) {
      const { records, warnings } = await ask(port, 'loop')
      assert.ok(
        records.every(({ place }) => place === 'unknown'),
        JSON.stringify(records),
      )
      assert.equal(paused(warnings), 1)
    }
    await ask(port, 'close')
    await named(port, 'loop', /stalls\.mjs/)
    child.process.kill('SIGKILL')
  })

  it('does not keep the process alive', async () => {
    const child = startApp({ MELTPROOF_CULPRIT: 'on' })
    await ask(await child.port(), 'loop')
    child.process.kill('SIGTERM')
    assert.equal((await child.ended).code, 0)
  })

  for (const [what, node] of [
    ['may not start threads', ['--permission', '--allow-fs-read=*', ...ALLOW_NET]],
    ['is open to a debugger', ['--inspect=127.0.0.1:0']],
  ] as const) {
    it(`warns once and serves if the process ${what}`, async () => {
      const child = startApp({ MELTPROOF_CULPRIT: 'on' }, node)
      const port = await child.port()
      await ask(port, '')
      const stalls: Answer['records'][number][] = []
      for (let i = 0; i < 3; i++) stalls.push(...(await ask(port, 'loop')).records)
      const { warnings } = await ask(port, '')
      assert.equal(
        warnings.filter(text => /cannot name stalls|does not name stalls/.test(text)).length,
        1,
        warnings.join('\n'),
      )
      assert.ok(
        stalls.every(({ place }) => place === 'unknown'),
        JSON.stringify(stalls),
      )
      child.process.kill('SIGKILL')
    })
  }

  it('is off by default', async () => {
    const child = startApp({})
    assert.deepEqual((await ask(await child.port(), 'loop')).records, [])
    child.process.kill('SIGKILL')
  })
})

describe('watchStalls()', () => {
  it('rejects invalid options', () => {
    assert.throws(() => watchStalls({ thresholdMS: 1 } as never), /Did you mean 'thresholdMs'/)
    assert.throws(() => watchStalls({ thresholdMs: 10 }), MeltproofError)
    assert.throws(() => watchStalls({ onWarning: 1 } as never), /onWarning must be a function/)
  })

  it('restores the functions that it replaced', async () => {
    const { parse, stringify } = JSON
    const stop = watchStalls()
    assert.notEqual(JSON.parse, parse)
    assert.deepEqual([JSON.parse.name, JSON.parse.length, JSON.stringify.length], ['parse', 2, 3])
    assert.deepEqual(
      JSON.parse('{"a":[1]}', (_, value) => value),
      { a: [1] },
    )
    assert.equal(JSON.stringify(undefined), undefined)
    stop()
    stop()
    assert.deepEqual([JSON.parse, JSON.stringify], [parse, stringify])
    assert.equal(Reflect.has(globalThis, Symbol.for('meltproof.culprit.look')), false)
  })

  for (const [what, command, calls] of [
    ['a file', './prints > printed', ['process.stdout.write', 'console.log', 'process.stdout.write']],
    ['a terminal', 'script -qec ./prints /dev/null', ['process.stdout.write', 'console.log', 'process.stdout.write']],
    ['a pipe, in a call of console only,', './prints | cat', ['console.log']],
  ] as const) {
    it(`notices output to ${what} until it is restored`, () => {
      const app = `'${process.execPath}' --no-warnings '${join(APPS, 'prints.ts')}' 2> noticed`
      writeFileSync(join(scratch, 'prints'), `#!/bin/sh\n${app}\n`, { mode: 0o700 })
      const { stdout, stderr } = spawnSync('sh', ['-c', command], { cwd: scratch, encoding: 'utf8' })
      const noticed = readFileSync(join(scratch, 'noticed'), 'utf8')
      assert.deepEqual(JSON.parse(noticed), calls, stdout + stderr)
    })
  }

  for (const [how, waits, stderr] of [
    ['exit', 1, /^$/],
    ['error', 1, /^(?!.*Waiting for the debugger).*Error: thrown/s],
    ['stopped', 1, /^$/],
    ['at rest', 0, /^$/],
  ] as const) {
    it(`closes the session of the watcher before the process exits: ${how}`, async () => {
      const seen: string[] = []
      for (let i = 0; i < ATTEMPTS; i++) {
        const ended = await start('../../culprit/apps/exits.mjs', { node: [], env: { HOW: how } }).ended
        if (ended.stdout === `{"waits":${waits}}\n` && stderr.test(ended.stderr)) return
        seen.push(ended.stdout + ended.stderr)
      }
      assert.fail(`none of ${ATTEMPTS} processes ended in silence:\n${seen.join('\n')}`)
    })
  }
})
