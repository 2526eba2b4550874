/** meltproof/register and the output of a process: real pipes, sockets, files and terminals, and all ways to end. */
import assert from 'node:assert/strict'
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import { describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { PIECE_OVERHEAD } from '../../src/logging/stdout/line-queue.ts'
import { account, IMPORTS, newFile, Pipe, run, STDOUT_ON } from './child.ts'

const LINES = 60_000
const MANY = { LINES: String(LINES), PER_TURN: '500' }

/** A few megabytes of log exceed it by far. */
const SMALL = { MELTPROOF_STDOUT_BUFFER: '1MB' }
/** How many lines of 115 bytes the buffer certainly holds at the end. Lines are lost until it is half empty. */
const fitting = (pieces: number): number => Math.floor(0.4e6 / (115 + pieces * PIECE_OVERHEAD))

/** The ways in which logs.mjs ends, the signal that each needs, and the expected exit code and signal. */
const ENDS: Readonly<Record<string, { send?: NodeJS.Signals; as: [number | null, NodeJS.Signals | null] }>> = {
  natural: { as: [0, null] },
  exit: { as: [3, null] },
  'nested-exit': { as: [3, null] },
  'really-exit': { as: [3, null] },
  throw: { as: [1, null] },
  signal: { send: 'SIGTERM', as: [null, 'SIGTERM'] },
  'signal-again': { send: 'SIGTERM', as: [null, 'SIGTERM'] },
  restart: { send: 'SIGUSR2', as: [null, 'SIGUSR2'] },
  'kill-self': { as: [null, 'SIGTERM'] },
  'kill-hard': { as: [null, 'SIGKILL'] },
}

const NOBODY = 65_534

function nobodyCan(): boolean {
  if (process.getuid?.() !== 0) return false
  const app = fileURLToPath(new URL('apps/logs.mjs', import.meta.url))
  return spawnSync(process.execPath, [app], { uid: NOBODY, gid: NOBODY, env: { LINES: '1' } }).status === 3
}

describe('with a fast reader, nothing is lost or added', () => {
  for (const HOW of ['console', 'write', 'descriptor', 'pieces']) {
    it(`in a pipe, ${HOW}`, async () => {
      const pipe = new Pipe()
      const app = run('logs.mjs', { stdout: pipe.writeFd, env: { LINES: '20000', PER_TURN: '50', HOW } })
      const text = await pipe.drain(app.ended, { everyMs: 1 })
      const { code, stderr } = await app.ended
      assert.deepEqual({ code, stderr }, { code: 3, stderr: '' })
      assert.deepEqual(account(text), { lines: 20_000, told: 0, torn: [] })
      assert.equal(text.split('\n').length, 20_001)
    })
  }

  it('in a file', async () => {
    const path = newFile()
    const app = run('logs.mjs', { stdout: fs.openSync(path, 'w'), env: { ...MANY, END: 'throw' } })
    const { code, stderr } = await app.ended
    assert.equal(code, 1)
    assert.match(stderr, /^file:.*\n[\s\S]*Error: as asked/)
    assert.deepEqual(account(fs.readFileSync(path, 'utf8')), { lines: LINES, told: 0, torn: [] })
  })

  it('in a file opened for appending', async () => {
    const path = newFile()
    fs.writeFileSync(path, 'before\n')
    await run('logs.mjs', { stdout: fs.openSync(path, 'a'), env: { LINES: '10' } }).ended
    assert.match(fs.readFileSync(path, 'utf8'), /^before\nline 00000000 /)
  })

  it('in a socket, as Node gives to its children', async () => {
    const app = run('logs.mjs', { stdout: 'pipe', env: { LINES: '20000', PER_TURN: '50' } })
    let text = ''
    app.child.stdout!.setEncoding('utf8').on('data', chunk => {
      text += chunk
    })
    await Promise.all([app.ended, new Promise(resolve => app.child.stdout!.on('close', resolve))])
    assert.deepEqual(account(text), { lines: 20_000, told: 0, torn: [] })
  })

  it('in a terminal', () => {
    // `script` keeps up, but a busy machine may give it a core late.
    const text = script(['logs.mjs'], { LINES: '20000', PER_TURN: '50', MELTPROOF_STDOUT_FLUSH: '20s' })
    assert.deepEqual(account(text), { lines: 20_000, told: 0, torn: [] })
  })
})

// Three at once, because these tests mostly wait for their flush limit.
describe('with a reader that has stopped', { concurrency: 3 }, () => {
  for (const [END, ends] of Object.entries(ENDS)) {
    for (const STREAM of ['stdout', 'stderr'] as const) {
      it(`${END}: the lines in the pipe and the losses on the other stream add up to those of ${STREAM}`, async () => {
        const pipe = new Pipe()
        const other = newFile()
        const otherFd = fs.openSync(other, 'w')
        const [stdout, stderr] = STREAM === 'stdout' ? [pipe.writeFd, otherFd] : [otherFd, pipe.writeFd]
        const app = run('logs.mjs', { stdout, stderr, env: { ...MANY, ...SMALL, STREAM, END } })
        await app.reported
        if (ends.send !== undefined) app.child.kill(ends.send)
        const { code, signal, report } = await app.ended
        assert.deepEqual([code, signal], ends.as)
        while ((pipe.read()?.length ?? 0) > 0);
        const told = fs.readFileSync(other, 'utf8')
        const { lines, told: lost, torn } = account(pipe.text, told)
        assert.deepEqual(torn, [])
        assert.ok(lines > 0 && lines < LINES / 10, `${lines} lines`)
        assert.equal(lines + lost, LINES)
        assert.match(told, /^meltproof: \w+ is read more slowly than it is written[^\n]+\n/m, 'once, while it runs')
        if (report !== undefined) assert.ok(report.rss < 200e6, `rss ${report.rss}`)
      })
    }
  }

  it('with both streams on one pipe, whole lines are in the pipe, and the process ends', async () => {
    const pipe = new Pipe()
    const app = run('logs.mjs', { stdout: pipe.writeFd, stderr: pipe.writeFd, env: { ...MANY, ...SMALL } })
    assert.equal((await app.ended).code, 3)
    while ((pipe.read()?.length ?? 0) > 0);
    const { lines, torn } = account(pipe.text)
    assert.deepEqual(torn, [])
    assert.ok(lines > 0 && lines < LINES / 10, `${lines} lines`)
  })

  it('the process ends within MELTPROOF_STDOUT_FLUSH', async () => {
    const pipe = new Pipe()
    const app = run('logs.mjs', { stdout: pipe.writeFd, env: { ...MANY, ...SMALL, MELTPROOF_STDOUT_FLUSH: '300ms' } })
    await app.reported
    const from = performance.now()
    await app.ended
    const tookMs = performance.now() - from
    assert.ok(tookMs > 200 && tookMs < 5000, `${tookMs} ms`)
  })
})

describe('a program that respects back-pressure and ends', { concurrency: 3 }, () => {
  const env = { LINES: '5000', MELTPROOF_STDOUT_FLUSH: '50ms' }
  for (const HOW of ['pipe', 'drain', 'consoleThenDrain', 'callback', 'end', 'worker']) {
    it(`${HOW}: is kept alive until everything is read, beyond its flush limit`, async () => {
      const pipe = new Pipe()
      const app = run('heeds.mjs', { stdout: pipe.writeFd, env: { ...env, HOW } })
      await sleep(1500)
      assert.equal(app.child.exitCode, null)
      const text = await pipe.drain(app.ended, { bytes: 30_000, everyMs: 2 })
      const { code, stderr } = await app.ended
      assert.deepEqual({ code, stderr }, { code: 0, stderr: '' })
      assert.deepEqual(account(text), { lines: 5000, told: 0, torn: [] })
    })

    it(`${HOW}: ends when the reader closes`, async () => {
      const pipe = new Pipe()
      const app = run('heeds.mjs', { stdout: pipe.writeFd, env: { ...env, HOW } })
      await sleep(500)
      pipe.closeReader()
      const { signal, stderr } = await app.ended
      assert.equal(signal, null, 'it ended by itself')
      assert.match(stderr, /cannot be written \(EPIPE/)
    })
  }

  for (const HOW of ['atOnce', 'end']) {
    it(`${HOW}: loses no line of a write that is larger than the buffer`, async () => {
      const pipe = new Pipe()
      const app = run('heeds.mjs', { stdout: pipe.writeFd, env: { ...env, HOW, MELTPROOF_STDOUT_BUFFER: '64KB' } })
      const text = await pipe.drain(app.ended, { bytes: 30_000, everyMs: 2 })
      const { code, stderr } = await app.ended
      assert.deepEqual({ code, stderr }, { code: 0, stderr: '' })
      assert.deepEqual(account(text), { lines: 5000, told: 0, torn: [] })
    })
  }

  it('console.log does not keep the process alive', async () => {
    const pipe = new Pipe()
    const app = run('heeds.mjs', { stdout: pipe.writeFd, env: { ...env, HOW: 'console' } })
    const { code, stderr } = await app.ended
    assert.equal(code, 0)
    while ((pipe.read()?.length ?? 0) > 0);
    assert.equal(account(pipe.text).lines + account(stderr).told, 5000)
  })
})

describe('a process whose event loop is stalled', () => {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    it(`ends at once on ${signal} when no lines wait`, async () => {
      const app = run('stalls.mjs', { stdout: 'ignore', env: { LINES: '0' } })
      await app.reported
      app.child.kill(signal)
      assert.equal((await app.ended).signal, signal)
    })
  }

  it('ends at once on Ctrl-C while nothing reads its log', async () => {
    const app = run('stalls.mjs', { stdout: new Pipe().writeFd, env: { LINES: '60000' } })
    await app.reported
    app.child.kill('SIGINT')
    assert.equal((await app.ended).signal, 'SIGINT')
  })

  it('delays SIGTERM while lines wait, and reports the exact losses', async () => {
    const pipe = new Pipe()
    const app = run('stalls.mjs', { stdout: pipe.writeFd, env: { ...SMALL, LINES: '60000', STALL_MS: '500' } })
    await app.reported
    app.child.kill('SIGTERM')
    const { signal, stderr } = await app.ended
    assert.equal(signal, 'SIGTERM')
    while ((pipe.read()?.length ?? 0) > 0);
    assert.equal(account(pipe.text).lines + account(stderr).told, LINES)
  })
})

describe('with a reader that is too slow', () => {
  for (const HOW of ['console', 'descriptor', 'pieces']) {
    it(`drops whole lines, counts and reports them, ${HOW}`, async () => {
      const fits = fitting(HOW === 'pieces' ? 3 : 1)
      const pipe = new Pipe()
      const env = { ...MANY, ...SMALL, HOW, MELTPROOF_STDOUT_FLUSH: '20s' }
      const app = run('logs.mjs', { stdout: pipe.writeFd, env })
      const text = await pipe.drain(app.ended, { bytes: 30_000, everyMs: 10 })
      const { code, stderr } = await app.ended
      assert.equal(code, 3)
      const { lines, told, torn } = account(text)
      assert.deepEqual(torn, [])
      assert.ok(told > 0 && lines >= fits, `${lines} lines, ${told} told`)
      assert.equal(lines + told, LINES, 'the stream itself tells it all')
      // The first lines fit. Some of the later ones arrive once there is room again.
      for (const n of [0, fits >> 1, fits - 1])
        assert.ok(text.includes(`line ${String(n).padStart(8, '0')}`), `line ${n}`)
      assert.equal(account(stderr).told, 0)
      const notices = text.match(/meltproof: \d+ lines/g)!.length
      assert.ok(notices < 60, `${notices} notices`)
    })
  }

  it('does not block on a terminal', async () => {
    const path = newFile()
    // `script` is the terminal. Its output is read only after the app has ended.
    assert.equal(await getsPastItsLog(path, [], 3000), false, 'without meltproof the app never gets past its log')
    assert.equal(await getsPastItsLog(path, [...IMPORTS], 30_000), true)
  })

  it('does not block on a pipe that was set to blocking', async () => {
    const bare = new Pipe()
    const stalled = run('sets-blocking.mjs', { stdout: bare.writeFd, protect: false, env: MANY })
    const pipe = new Pipe()
    const app = run('sets-blocking.mjs', { stdout: pipe.writeFd, env: { ...MANY, ...SMALL } })
    const { code, stderr } = await app.ended
    assert.equal(code, 3)
    while ((pipe.read()?.length ?? 0) > 0);
    assert.equal(account(pipe.text, stderr).lines + account(stderr).told, LINES)
    assert.equal(stalled.child.exitCode, null, 'without meltproof the app never gets past its log')
    stalled.child.kill('SIGKILL')
  })

  const skip = nobodyCan() ? false : 'needs root, and a Node that other users may run'
  it('does not block on the pipe of another user, as in a container without root', { skip }, async () => {
    const pipe = new Pipe()
    const app = run('logs.mjs', { stdout: pipe.writeFd, uid: NOBODY, env: { ...MANY, ...SMALL } })
    const { code, stderr } = await app.ended
    assert.equal(code, 3, stderr)
    while ((pipe.read()?.length ?? 0) > 0);
    assert.equal(account(pipe.text).lines + account(stderr).told, LINES)
  })

  it('does not block on a socket that a child set to blocking', async () => {
    const app = run('child-inherits.mjs', { stdout: 'pipe', env: { ...MANY, ...SMALL } })
    app.child.stdout!.pause()
    await app.reported
    const { code, stderr } = await app.ended
    assert.equal(code, 3)
    assert.match(stderr, /lines of stdout lost/)
  })
})

describe('a child that writes to its inherited stdout', () => {
  async function childSucceeds(): Promise<boolean> {
    const app = run('child-writes.mjs', { stdout: 'pipe', env: { LINES: '60000', MELTPROOF_STDOUT_FLUSH: '20s' } })
    const { stdout } = app.child
    let text = ''
    stdout!.setEncoding('utf8').on('data', chunk => {
      text += chunk
      stdout!.pause()
      setTimeout(() => stdout!.resume(), 5)
    })
    const { code, logged } = (await app.reported) as { code: number; logged: number }
    await Promise.all([app.ended, once(stdout!, 'close')])
    if (code !== 0) return false
    // The child writes 4 KiB at a time instead of lines, so our lines are inside its lines.
    const ours = /line \d{8} x{100}\n/g
    assert.equal(text.match(ours)!.length, logged)
    assert.ok(text.replace(ours, '') === Array.from({ length: 60_000 }, (_, i) => `${i + 1}\n`).join(''))
    return true
  }

  // If the socket stayed non-blocking, every child would fail once it is full. It is non-blocking only for the
  // microseconds of our own writes, but a busy machine may stop the process during one.
  it('loses nothing on a socket, however slow its reader', async () => {
    for (let tries = 1; !(await childSucceeds()); tries++) assert.ok(tries < 5, 'in none of five runs')
  })
})

describe('a failure does not stop the service, and is reported once', () => {
  it('a full disk', async () => {
    const app = run('logs.mjs', { stdout: fs.openSync('/dev/full', 'w'), env: { LINES: '3000', PER_TURN: '10' } })
    const { code, stderr } = await app.ended
    assert.equal(code, 3)
    assert.equal(stderr.match(/cannot be written \(ENOSPC: no space left on device/g)?.length, 1)
    assert.equal(account(stderr).told, 3000)
  })

  for (const HOW of ['console', 'write', 'descriptor']) {
    it(`a reader that has closed, ${HOW}`, async () => {
      const pipe = new Pipe()
      pipe.closeReader()
      const app = run('logs.mjs', { stdout: pipe.writeFd, env: { LINES: '3000', PER_TURN: '10', HOW } })
      const { code, stderr } = await app.ended
      assert.equal(code, 3)
      assert.equal(stderr.match(/cannot be written \((EPIPE|ENXIO)/g)?.length, 1)
      assert.equal(account(stderr).told, 3000)
    })
  }

  it('a line of 10 MB that does not fit is dropped alone', async () => {
    const pipe = new Pipe()
    // More than the pipe accepts.
    const app = run('long-line.mjs', { stdout: pipe.writeFd, env: { BEFORE: '20000' } })
    await app.reported
    const text = await pipe.drain(app.ended)
    const { code, stderr } = await app.ended
    assert.equal(code, 0)
    const before = 'before\n'.repeat(20_000)
    assert.ok(text.startsWith(before))
    assert.match(text.slice(before.length), /^meltproof: 1 line lost here[^\n]*\nafter\n$/)
    assert.match(stderr, /^meltproof: stdout is read more slowly than it is written, or a line was longer/)
  })

  it('a line of 10 MB is written whole if nothing waits before it', async () => {
    const pipe = new Pipe()
    const app = run('long-line.mjs', { stdout: pipe.writeFd })
    const text = await pipe.drain(app.ended)
    const { code, stderr } = await app.ended
    assert.deepEqual({ code, stderr }, { code: 0, stderr: '' })
    assert.ok(text === `before\n${'x'.repeat(10_000_000)}\nafter\n`)
  })

  it('a line of 10 MB to a file is no failure, and is written whole', async () => {
    const path = newFile()
    await run('long-line.mjs', { stdout: fs.openSync(path, 'w') }).ended
    assert.ok(fs.readFileSync(path, 'utf8') === `before\n${'x'.repeat(10_000_000)}\nafter\n`)
  })
})

describe('install()', () => {
  it('counts lines, returns one instance, accepts new options, and restores everything', async () => {
    const pipe = new Pipe()
    const app = run('installs.mjs', { stdout: pipe.writeFd, protect: false })
    const found = (await app.reported) as Record<string, unknown>
    const text = await pipe.drain(app.ended)
    const { written, waiting, lost, bufferedBytes } = found['stdout'] as Record<string, number>
    assert.equal(written! + waiting! + lost!, 5000)
    assert.ok(lost! > 1000 && bufferedBytes! <= 101_000, `${lost} lost, ${bufferedBytes} bytes`)
    // The one line on the other stream that reports the loss is not counted.
    assert.deepEqual(found['stderr'], { written: 0, waiting: 0, lost: 0, lostBytes: 0, bufferedBytes: 0 })
    const { same, taken, back, listeners } = found
    assert.deepEqual({ same, taken, back }, { same: true, taken: true, back: true })
    const [none, all] = [
      [0, 0],
      [1, 1],
    ]
    assert.deepEqual(listeners, [none, [1, 0], all, none], 'before, within the turn that logs, after it, given back')
    const { lines, told, torn } = account(text)
    assert.deepEqual(torn, [])
    assert.equal(lines + told, 5000, 'what waited was handed over')
    assert.ok(text.endsWith('after\n'))
    const codes = found['codes'] as string[]
    assert.match(codes[0]!, /^MELTPROOF_OPTION_INVALID: bufferBytes must be a whole number of bytes from 65536/)
    assert.match(codes[1]!, /^MELTPROOF_OPTION_UNKNOWN: .*Did you mean 'flushMs'/)
  })
})

describe('after uninstall()', () => {
  it('kept methods write to the original stream, and to no other file', async () => {
    const pipe = new Pipe()
    const env = { VICTIM: newFile() }
    const app = run('kept-after-uninstall.mjs', { stdout: pipe.writeFd, protect: false, env })
    const found = (await app.reported) as { victims: number[]; held: string }
    const text = await pipe.drain(app.ended)
    assert.equal((await app.ended).code, 0)
    assert.equal(found.held, '')
    assert.deepEqual(text.split('\n').sort(), ['', 'bound', 'wrapper', 'write', 'writeSync', 'writev', 'writevSync'])
  })

  it('a second call of it leaves a later install() in force', async () => {
    const pipe = new Pipe()
    const app = run('uninstalls-again.mjs', { stdout: pipe.writeFd, protect: false })
    assert.deepEqual(await app.reported, { same: true, patchedOnce: true })
    await pipe.drain(app.ended)
    assert.equal((await app.ended).code, 0)
  })
})

/** `script` takes a shell command, and the folder of a checkout may have any name. */
const shellCommand = (words: readonly string[]): string =>
  words.map(word => `'${word.replaceAll("'", String.raw`'\''`)}'`).join(' ')

/** A terminal whose whole output is read. */
function script([app]: string[], env: Record<string, string>): string {
  const file = fileURLToPath(new URL(`apps/${app}`, import.meta.url))
  const command = shellCommand([process.execPath, ...IMPORTS, file])
  const { NODE_OPTIONS: _, ...inherited } = process.env
  return execFileSync('script', ['-qfc', command, '/dev/null'], {
    env: { ...inherited, ...STDOUT_ON, ...env },
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    maxBuffer: 1e9,
  }).replaceAll('\r', '')
}

/**
 * Returns whether an app logs everything within `withinMs` to a terminal that stops reading. It then writes REPORT.
 */
async function getsPastItsLog(path: string, node: string[], withinMs: number): Promise<boolean> {
  fs.rmSync(path, { force: true })
  const file = fileURLToPath(new URL('apps/logs-to-terminal.mjs', import.meta.url))
  const command = shellCommand([process.execPath, ...node, file])
  const { NODE_OPTIONS: _, ...inherited } = process.env
  const child = spawn('script', ['-qfc', command, '/dev/null'], {
    env: { ...inherited, ...STDOUT_ON, ...MANY, ...SMALL, REPORT: path },
    stdio: ['ignore', 'pipe', 'ignore'],
    detached: true,
  })
  child.stdout!.pause()
  const until = performance.now() + withinMs
  while (!fs.existsSync(path) && performance.now() < until) await new Promise(resolve => setTimeout(resolve, 20))
  process.kill(-child.pid!, 'SIGKILL')
  return fs.existsSync(path)
}
