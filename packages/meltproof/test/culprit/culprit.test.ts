/** Real stalls in a process under register. On a machine without free CPU a stall may be unknown, but never another line. */
import assert from 'node:assert/strict'
import { basename } from 'node:path'
import { describe, it } from 'node:test'
import { MeltproofError } from '../../src/errors.ts'
import { watchStalls } from '../../src/culprit/index.ts'
import { type Child, get, IMPORT, start } from '../register/child.ts'

interface Answer {
  readonly line: number
  readonly records: readonly {
    readonly fromMs: number
    readonly toMs: number
    readonly place: string
    readonly file?: string
    readonly line?: number
    readonly route?: string
  }[]
  readonly warnings: readonly string[]
  readonly early: readonly string[]
}

/** On a busy machine many stalls pass before the watcher gets a core during one, ms. */
const NAMED_WITHIN_MS = 60_000
/** The main thread waits 100 ms for the watcher, which may get no core in that time. */
const EXITS = 3
/** Node 25 and later ask for it under `--permission`; others do not know it. */
const ALLOW_NET = process.allowedNodeEnvironmentFlags.has('--allow-net') ? ['--allow-net'] : []

function startApp(variables: Record<string, string>, node: readonly string[] = []): Child {
  return start('../../culprit/apps/stalls.mjs', { node: [...node, ...IMPORT], env: variables })
}

async function ask(port: number, form: string): Promise<Answer> {
  return JSON.parse(await get(port, `/${form}`)) as Answer
}

/** Asks until the stall is named. Whatever is named before must be that line too. */
async function named(port: number, form: string): Promise<Answer> {
  for (const untilMs = Date.now() + NAMED_WITHIN_MS; Date.now() < untilMs; ) {
    const answer = await ask(port, form)
    for (const { file, line, toMs, fromMs } of answer.records) {
      if (file === undefined || toMs - fromMs < 400) continue
      assert.deepEqual([basename(file), line], ['stalls.mjs', answer.line], form)
      return answer
    }
  }
  throw new Error(`${form} was not named once in ${NAMED_WITHIN_MS} ms`)
}

describe('MELTPROOF_CULPRIT=on', () => {
  for (const form of ['loop', 'regex', 'json', 'later']) {
    it(`names the line and the request of a stall: ${form}`, async () => {
      const child = startApp({ MELTPROOF_CULPRIT: 'on' })
      const { records } = await named(await child.port(), form)
      // Node 22 knows it up to the first await.
      const isKnown = form !== 'later' || Number(process.versions.node.split('.')[0]) >= 24
      const routes = records.flatMap(({ file, route }) => (file === undefined ? [] : [route]))
      assert.ok(routes.includes(isKnown ? `GET /${form}` : undefined), JSON.stringify(records))
      child.process.kill('SIGKILL')
    })
  }

  it('runs no microtask or nextTick callback before the blocking handler ends, and ignores debugger statements', async () => {
    const child = startApp({ MELTPROOF_CULPRIT: 'on' })
    const { early, warnings } = await named(await child.port(), 'loop')
    assert.equal(early[0], 'end')
    assert.deepEqual(early.toSorted(), ['end', 'promise', 'tick'])
    assert.match(warnings.join('\n'), /The event loop stalled for \d+ ms for GET \/loop: loop, .*stalls\.mjs:\d+/)
    child.process.kill('SIGKILL')
  })

  it('leaves an inspector session of the app alone', async () => {
    const child = startApp({ MELTPROOF_CULPRIT: 'on', OWN_SESSION: 'on' })
    const port = await child.port()
    await named(port, 'loop')
    child.process.kill('SIGTERM')
    assert.deepEqual((await child.ended).code, 0)
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
      for (let i = 0; i < 3; i++) await ask(port, 'loop')
      const { warnings, records } = await ask(port, '')
      assert.equal(
        warnings.filter(text => /cannot name stalls|does not name stalls/.test(text)).length,
        1,
        warnings.join('\n'),
      )
      assert.deepEqual(records, [])
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

  for (const [how, waits, stderr] of [
    ['exit', 1, /^$/],
    ['error', 1, /^(?!.*Waiting for the debugger).*Error: thrown/s],
    ['stopped', 1, /^$/],
    ['at rest', 0, /^$/],
  ] as const) {
    it(`closes the session of the watcher before the process exits: ${how}`, async () => {
      const seen: string[] = []
      for (let i = 0; i < EXITS; i++) {
        const ended = await start('../../culprit/apps/exits.mjs', { node: [], env: { HOW: how } }).ended
        if (ended.stdout === `{"waits":${waits}}\n` && stderr.test(ended.stderr)) return
        seen.push(ended.stdout + ended.stderr)
      }
      assert.fail(`none of ${EXITS} processes ended in silence:\n${seen.join('\n')}`)
    })
  }
})
