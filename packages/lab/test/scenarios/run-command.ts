/** Runs `meltlab run NAME --brief --json` as a process of its own, checks what must hold of every run, and tidies up. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ScenarioResult } from '../../src/report/scenario/result.ts'
import { allProcesses } from '../../src/watch/process-tree.ts'

const cli = fileURLToPath(new URL('../../src/cli.ts', import.meta.url))

export interface RunEnd {
  readonly result: ScenarioResult
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** `onStderr` may signal the process. The code is 0 unless `expectCode` says otherwise. */
export async function runCommand(
  name: string,
  expectCode = 0,
  onStderr: (text: string, kill: (signal: NodeJS.Signals) => void) => void = () => {},
): Promise<RunEnd> {
  const out = mkdtempSync(path.join(os.tmpdir(), 'meltlab-run-'))
  const mark = `MELTLAB_TEST_RUN=${path.basename(out)}`
  const child = spawn(process.execPath, [cli, 'run', name, '--brief', '--json', '--out', out], {
    env: { ...process.env, MELTLAB_TEST_RUN: path.basename(out) },
  })
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', text => {
    stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', text => {
    stderr += text
    onStderr(stderr, signal => child.kill(signal))
  })
  const code = await new Promise<number | null>(resolve => child.once('close', resolve))
  try {
    assert.equal(code, expectCode, stderr)
    const [run] = readdirSync(out)
    assert.match(run!, new RegExp(`-${name}$`))
    assert.deepEqual(readdirSync(path.join(out, run!)).sort(), ['picture.svg', 'report.html', 'result.json'])
    const read = (file: string): string => readFileSync(path.join(out, run!, file), 'utf8')
    assert.doesNotMatch(read('report.html') + read('picture.svg'), /NaN|undefined|Infinity/)
    assert.deepEqual(await carrying(mark), [], 'processes that outlived the run')
    const result = JSON.parse(read('result.json')) as ScenarioResult
    assert.deepEqual(JSON.parse(stdout), result)
    assert.deepEqual(
      result.verdicts.filter(each => each.verdict === 'fail'),
      [],
    )
    return { result, code, stdout, stderr }
  } finally {
    rmSync(out, { recursive: true, force: true })
  }
}

/** Processes with the run's mark in their environment, by which strays are found. */
async function carrying(mark: string): Promise<string[]> {
  if (process.platform !== 'linux') return []
  return (await allProcesses()).flatMap(({ pid, state }) => {
    try {
      const marked = state !== 'Z' && readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').includes(mark)
      return marked ? [`${pid} ${readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')}`] : []
    } catch {
      return [] // ended meanwhile
    }
  })
}
