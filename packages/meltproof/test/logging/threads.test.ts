/** One stdout with several writers: pino, worker threads that log, and clusters. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { NO_STATS } from '../../src/logging/stdout/line-queue.ts'
import { Pipe, run } from './child.ts'

/** Counts the lines of apps/pino.mjs and thread.mjs, and the losses that notices report. */
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
/** Large enough for a reader that keeps up but may get a core late. */
const patient = { ...env, MELTPROOF_STDOUT_BUFFER: '8MB' }

describe('pino', () => {
  for (const HOW of ['default', 'destination']) {
    it(`${HOW}: with a fast reader, all lines arrive`, async () => {
      const pipe = new Pipe()
      const app = run('pino.mjs', { stdout: pipe.writeFd, env: { ...patient, LINES: '5000', HOW } })
      const text = await pipe.drain(app.ended, { everyMs: 1 })
      const { code, stderr } = await app.ended
      const { lines, told, inOrder } = count(text)
      assert.deepEqual({ code, stderr }, { code: 3, stderr: '' })
      assert.deepEqual({ lines, told, inOrder }, { lines: 5000, told: 0, inOrder: true })
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
  it('loses nothing with a fast reader, even at its end', async () => {
    const pipe = new Pipe()
    const app = run('thread.mjs', { stdout: pipe.writeFd, env: { ...patient, LINES: '5000', WAIT: '500' } })
    const text = await pipe.drain(app.ended, { everyMs: 1 })
    assert.equal((await app.ended).code, 3)
    assert.deepEqual(count(text), { lines: 5000, told: 0, inOrder: true })
  })

  for (const protect of [false, true]) {
    const how = protect ? 'under register' : 'without meltproof'
    it(`${how}: its lines arrive whole and in order, with those of the main thread`, async () => {
      const pipe = new Pipe()
      const app = run('mixes.mjs', { stdout: pipe.writeFd, protect, env: patient })
      const text = await pipe.drain(app.ended, { bytes: 16_384, everyMs: 1 })
      const { code, stderr } = await app.ended
      assert.deepEqual({ code, stderr }, { code: 0, stderr: '' })
      const { lines, told } = whole(text)
      assert.deepEqual({ lines: lines.filter(name => name === 'b').length, told }, { lines: 10_000, told: 0 })
    })
  }

  it('keeps its stdout when it calls install(), and its lines count as those of the main thread', async () => {
    const pipe = new Pipe()
    const app = run('installs-in-thread.mjs', { stdout: pipe.writeFd, protect: false, env: { LINES: '5000' } })
    const text = await pipe.drain(app.ended, { everyMs: 1 })
    const { code, stderr } = await app.ended
    assert.deepEqual({ code, stderr }, { code: 0, stderr: '' })
    assert.deepEqual(count(text), { lines: 5000, told: 0, inOrder: true })
    const { same, untouched, thread, main } = (await app.reported) as Record<string, unknown>
    assert.deepEqual({ same, untouched }, { same: true, untouched: true })
    assert.deepEqual(thread, { stdout: NO_STATS, stderr: NO_STATS })
    const { written, waiting, lost } = main as Record<string, number>
    assert.deepEqual([written! + waiting!, lost], [5000, 0])
  })
})

/** Checks that the lines of writers `a` and `b` are whole and in order. Returns them and the reported losses. */
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
