/**
 * Measures how long write(2) of a log line to a regular file takes, alone and while other processes write to the same
 * disk at full speed. Shows whether files need more than write(2): `node bench/stdout-file.ts [seconds]`.
 */
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const seconds = Number(process.argv[2] ?? 12)
const folder = fs.mkdtempSync(join(tmpdir(), 'meltproof-bench-'))
const line = `${'x'.repeat(199)}\n`

/** Times single writes, 20 per millisecond, for the given time. */
function measure(name: string): void {
  const fd = fs.openSync(join(folder, name), 'w')
  const tookMs: number[] = []
  const cell = new Int32Array(new SharedArrayBuffer(4))
  const endMs = performance.now() + seconds * 1000
  while (performance.now() < endMs) {
    for (let i = 0; i < 20; i++) {
      const from = performance.now()
      fs.writeSync(fd, line)
      tookMs.push(performance.now() - from)
    }
    Atomics.wait(cell, 0, 0, 1)
  }
  fs.closeSync(fd)
  tookMs.sort((a, b) => a - b)
  const at = (share: number): string =>
    tookMs[Math.min(tookMs.length - 1, Math.floor(tookMs.length * share))]!.toFixed(3)
  console.log(`${name}: ${tookMs.length} lines, ms: p50 ${at(0.5)} p99 ${at(0.99)} p99.99 ${at(0.9999)} max ${at(1)}`)
}

measure('quiet')
const others = [1, 2].map(i =>
  spawn('dd', ['if=/dev/zero', `of=${join(folder, `big${i}`)}`, 'bs=1M', 'count=6000'], { stdio: 'ignore' }),
)
try {
  measure('busy')
} finally {
  for (const other of others) other.kill('SIGKILL')
  await Promise.all(
    others.map(other => new Promise(resolve => (other.exitCode === null ? other.on('exit', resolve) : resolve(0)))),
  )
  fs.rmSync(folder, { recursive: true, force: true })
}
