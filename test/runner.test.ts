/** The runner of the suite, on planted test files. */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'

const RUNNER = join(import.meta.dirname, '../scripts/test.ts')
const root = mkdtempSync(join(tmpdir(), 'meltproof-runner-'))
after(() => rmSync(root, { recursive: true, force: true }))
let folders = 0

/** Prepares a run of unit tests, because these need no build. */
function planted(files: Readonly<Record<string, string>>) {
  const cwd = join(root, String(folders++))
  for (const [name, body] of Object.entries(files)) {
    const file = join(cwd, name.includes('/') ? '' : 'test', `${name}.test.ts`)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, `import { test } from 'node:test'\n${body}`)
  }
  const { NODE_TEST_CONTEXT: _, ...rest } = process.env
  return { cwd, args: ['--experimental-strip-types', '--no-warnings', RUNNER, '--unit'], env: rest }
}

function run(files: Readonly<Record<string, string>>, variables: Readonly<Record<string, string>> = {}) {
  const { cwd, args, env } = planted(files)
  const options = { cwd, env: { ...env, ...variables }, timeout: 60_000, killSignal: 'SIGKILL' } as const
  return spawnSync(process.execPath, args, { encoding: 'utf8', ...options })
}

const PASSES = "test('passes', () => {})"

test('a file whose event loop never turns is killed and named, and the others run', () => {
  const { status, stdout, stderr } = run({ spins: 'for (;;);', passes: PASSES }, { TEST_FILE_MS: '3000' })
  assert.match(
    stderr,
    /^test\/spins\.test\.ts did not end within 3 s, and its event loop did not turn: it was killed$/m,
  )
  assert.match(stdout, /✔ passes/)
  assert.match(stdout, /✖ .*spins\.test\.ts/)
  assert.equal(status, 1)
})

test('a file that waits before any test is ended and named', () => {
  const { status, stdout } = run(
    { waits: 'globalThis.setInterval(() => {}, 1000)\nawait new Promise(() => {})' },
    { TEST_FILE_MS: '3000' },
  )
  assert.match(stdout, /^test\/waits\.test\.ts did not end within 3 s, and was ended\. Held by: .*Timeout/m)
  assert.equal(status, 1)
})

test('skipped tests are counted at the end by reason, and do not fail the run', () => {
  const skip = (reason: string): string => `test('a', { skip: ${reason} }, () => {})\n`
  const files = { one: skip("'no haproxy'").repeat(2) + PASSES, two: skip("'no haproxy'") + skip('true') }
  const { status, stdout } = run(files)
  assert.match(stdout, /\nSKIPPED 4 \(.*\):\n {5}3 {2}no haproxy\n {5}1 {2}not for this system\n$/)
  assert.equal(status, 0)
})

test('a run without skipped tests does not mention them', () => {
  const { status, stdout } = run({ passes: PASSES })
  assert.doesNotMatch(stdout, /SKIPPED/)
  assert.equal(status, 0)
})

/** Fails in these of its runs, which count from 1. */
const failsIn = (...runs: readonly number[]): string => `
const fs = process.getBuiltinModule('node:fs')
test('fails in some runs', () => {
  fs.appendFileSync('ran', '.')
  if (${JSON.stringify(runs)}.includes(fs.statSync('ran').size)) throw new Error('busy')
})`
const FAILS_ONCE = failsIn(1)
const FAILS = "test('fails', () => { throw new Error('always') })"

test('a file that fails while others run and passes alone is reported as unsteady, and does not fail the run', () => {
  const { status, stdout } = run({ once: FAILS_ONCE, passes: PASSES })
  assert.match(stdout, /\ntest\/once\.test\.ts failed, and runs again alone\n/)
  assert.match(stdout, /\nUNSTEADY 1 \(failed, and passed when run again\): test\/once\.test\.ts\n$/)
  assert.equal(status, 0)
})

for (const [body, code] of [
  [failsIn(1), 0],
  [failsIn(1, 3), 1],
] as const) {
  test(`a test of speed that failed runs twice more, and both have to pass: exit code ${code}`, () => {
    const { status, stdout } = run({ 'packages/lab/test/measures/speed': body })
    assert.match(stdout, /\npackages\/lab\/test\/measures\/speed\.test\.ts failed, and runs twice more\n/)
    assert.match(stdout, code === 0 ? /\nUNSTEADY 1 .*speed\.test\.ts\n$/ : /\nFAILED: .*speed\.test\.ts\n$/)
    assert.equal(status, code)
  })
}

test('a file that also fails alone fails the run, even together with an unsteady one', () => {
  const { status, stdout } = run({ once: FAILS_ONCE, fails: FAILS })
  assert.match(stdout, /\nUNSTEADY 1 .*: test\/once\.test\.ts\n\nFAILED: test\/fails\.test\.ts\n$/)
  assert.equal(status, 1)
})

test('when more than three files fail, none runs again', () => {
  const { status, stdout } = run({ once: FAILS_ONCE, a: FAILS, b: FAILS, c: FAILS })
  assert.doesNotMatch(stdout, /runs again|UNSTEADY/)
  assert.equal(status, 1)
})

/** Starts one process in its own group and one in another. Prints all three ids. A unit test, so it imports nothing. */
const STARTS = `
const { spawn } = process.getBuiltinModule('node:child_process')
test('waits', () => new Promise(resolve => {
  const started = [{}, { detached: true }].map(options => spawn('sleep', ['60'], options))
  console.error('STARTED ' + [process.pid, ...started.map(each => each.pid)].join(' ') + '.')
  started[0].on('exit', resolve)
}))`

for (const [how, signal, code] of [
  ['SIGTERM', 'SIGTERM', 143],
  ['SIGINT', 'SIGINT', 130],
  ['SIGTERM to npm, which ends its shell', 'SIGKILL', null],
] as const) {
  test(`processes started by the files end with the run: ${how}`, { skip: process.platform === 'win32' }, async () => {
    const { cwd, args, env } = planted({ starts: STARTS })
    const isNpm = code === null
    const command = [process.execPath, ...args].map(each => `'${each}'`).join(' ')
    const child = isNpm
      ? spawn('/bin/sh', ['-c', `${command}; exit`], { cwd, env: { ...env, npm_lifecycle_event: 'test' } })
      : spawn(process.execPath, args, { cwd, env })
    let output = ''
    const pids = await new Promise<number[]>(resolve => {
      for (const stream of [child.stdout, child.stderr]) {
        stream.on('data', text => {
          output += text
          const found = /STARTED ([\d ]+)\./.exec(output)?.[1]
          if (found !== undefined) resolve(found.split(' ').map(Number))
        })
      }
      child.on('exit', () => resolve([]))
    })
    assert.equal(pids.length, 3, output)
    const exited = once(child, 'exit')
    child.kill(signal)
    assert.equal((await exited)[0], code)
    for (const until = Date.now() + 20_000; pids.some(isAlive) && Date.now() < until; ) await sleep(50)
    assert.deepEqual(pids.filter(isAlive), [])
  })
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
