/** Loggers with worker threads, worker threads that log, and clusters: one stdout, several writers. */
import assert from 'node:assert/strict'
import fs from 'node:fs'
import { createRequire } from 'node:module'
import { describe, it } from 'node:test'
import { Pipe, run, STDOUT_ON } from './child.ts'

/** Lines of apps/pino.mjs and thread.mjs in order, and lost ones that were told of. */
function count(text: string): { lines: number; told: number; inOrder: boolean } {
  const numbers = [...text.matchAll(/line (\d{8}) x{100}\b/g)].map(match => Number(match[1]))
  const told = [...text.matchAll(/meltproof: (\d+) lines? (?:of [a-z ]+ )?lost/g)].map(match => Number(match[1]))
  return {
    lines: numbers.length,
    told: told.reduce((sum, lines) => sum + lines, 0),
    inOrder: numbers.every((number, i) => i === 0 || number > numbers[i - 1]!),
  }
}

const LINES = 40_000
const env = { LINES: String(LINES), MELTPROOF_STDOUT_BUFFER: '1MB' }
/** A reader that keeps up, on a machine that may give it the core late. */
const patient = { ...env, MELTPROOF_STDOUT_BUFFER: '8MB' }

describe('pino', () => {
  for (const HOW of ['default', 'destination', 'transport']) {
    it(`${HOW}: with a fast reader, all lines arrive or are reported as lost`, async () => {
      const pipe = new Pipe()
      const app = run('pino.mjs', { stdout: pipe.writeFd, env: { ...patient, LINES: '5000', HOW } })
      const text = await pipe.drain(app.ended, { everyMs: 1 })
      const { code, stderr } = await app.ended
      const { lines, told, inOrder } = count(text)
      assert.deepEqual({ code, told, inOrder }, { code: 3, told: 0, inOrder: true })
      // What a thread of a transport has not come to write when the process ends is lost, and counted.
      if (HOW === 'transport') assert.equal(lines + count(stderr).told, 5000)
      else assert.deepEqual({ lines, stderr }, { lines: 5000, stderr: '' })
    })

    it(`${HOW}: with a stopped reader, the reported losses are exact and memory is bounded`, async () => {
      const pipe = new Pipe()
      const app = run('pino.mjs', { stdout: pipe.writeFd, env: { ...env, HOW } })
      const { code, stderr, report } = await app.ended
      assert.equal(code, 3)
      while ((pipe.read()?.length ?? 0) > 0);
      const { lines, inOrder } = count(pipe.text)
      assert.ok(inOrder)
      assert.ok(lines > 0 && lines < 2000, `${lines}`)
      assert.equal(lines + count(stderr).told, LINES, stderr)
      assert.ok(report!.rss < 200e6, `rss ${report!.rss}`)
    })
  }
})

describe('a worker thread', () => {
  const inTime = { ...patient, LINES: '5000', MELTPROOF_STDOUT_FLUSH: '20s' }

  it('loses nothing if it ends before its reader has caught up', async () => {
    const pipe = new Pipe()
    const app = run('thread-ends.mjs', { stdout: pipe.writeFd, env: inTime })
    const text = await pipe.drain(app.ended, { bytes: 16_384, everyMs: 2 })
    assert.equal((await app.ended).code, 3)
    assert.deepEqual(count(text), { lines: 5000, told: 0, inOrder: true })
  })

  // Most runs terminate it within a write.
  for (const attempt of [1, 2, 3, 4]) {
    it(`does not keep the process alive when it is terminated (${attempt})`, async () => {
      const file = fs.openSync('/dev/null', 'w')
      const { code, signal } = await run('terminates.mjs', { stdout: file }).ended
      fs.closeSync(file)
      assert.deepEqual({ code, signal }, { code: 0, signal: null })
    })
  }

  it('loses nothing with a fast reader, even at its end', async () => {
    const pipe = new Pipe()
    const app = run('thread.mjs', { stdout: pipe.writeFd, env: { ...patient, LINES: '5000', WAIT: '500' } })
    const text = await pipe.drain(app.ended, { everyMs: 1 })
    assert.equal((await app.ended).code, 3)
    assert.deepEqual(count(text), { lines: 5000, told: 0, inOrder: true })
  })

  it('does not mix its lines with those of other threads', async () => {
    const pipe = new Pipe()
    const app = run('mixes.mjs', { stdout: pipe.writeFd, env: { ...inTime, MELTPROOF_STDOUT_BUFFER: '64MB' } })
    const text = await pipe.drain(app.ended, { bytes: 16_384, everyMs: 1 })
    assert.equal((await app.ended).code, 3)
    assert.equal(whole(text).lines.filter(name => name === 'b').length, 10_000)
  })

  it('evaluated from a string loses nothing with --require meltproof/register', async () => {
    const pipe = new Pipe()
    const { resolve } = createRequire(import.meta.url)
    const node = ['meltproof/register', './apps/listens.cjs'].map(module => `--require=${resolve(module)}`)
    const env = { ...inTime, ...STDOUT_ON }
    const app = run('eval-thread.mjs', { stdout: pipe.writeFd, protect: false, node, env })
    const text = await pipe.drain(app.ended, { bytes: 16_384, everyMs: 2 })
    const { code, stderr } = await app.ended
    assert.deepEqual({ code, stderr }, { code: 3, stderr: '' })
    assert.deepEqual(count(text), { lines: 5000, told: 0, inOrder: true })
  })

  it('holds bounded memory with a stopped reader', async () => {
    const pipe = new Pipe()
    const app = run('thread.mjs', { stdout: pipe.writeFd, env: { ...env, LINES: '400000' } })
    const { code, report } = await app.ended
    assert.equal(code, 3)
    assert.ok(report!.rss < 250e6, `rss ${report!.rss}`)
  })
})

/** Of writers `a` and `b`, whose lines are whole and in order; and lines that were told of as lost. */
function whole(text: string): { lines: string[]; told: number } {
  let told = 0
  const lines: string[] = []
  const last: Record<string, number> = { a: -1, b: -1 }
  for (const line of text.split('\n').slice(0, -1)) {
    const lost = /^meltproof: (\d+) lines/.exec(line)
    const parts = /^([ab]) (\d+) (x*)\.$/.exec(line)
    if (lost !== null) told += Number(lost[1])
    else if (!line.startsWith('meltproof:')) {
      assert.ok(parts !== null, `torn: ${line.slice(0, 100)}`)
      const [name, number] = [parts[1]!, Number(parts[2])]
      assert.equal(parts[3]!.length, (number * 37) % 900)
      assert.ok(number > last[name]!)
      last[name] = number
      lines.push(name)
    }
  }
  return { lines, told }
}

describe('a cluster', () => {
  it('does not mix the lines of its workers', async () => {
    const pipe = new Pipe()
    const app = run('cluster.mjs', { stdout: pipe.writeFd, env: { ...env, LINES: '10000' } })
    const text = await pipe.drain(app.ended, { bytes: 16_384, everyMs: 2 })
    const { code, stderr } = await app.ended
    assert.equal(code, 3)
    const { lines, told } = whole(text + stderr)
    assert.equal(lines.length + told, 20_000)
  })
})
