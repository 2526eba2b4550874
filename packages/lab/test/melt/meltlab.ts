/** Runs the real command as a process of its own, and looks for what it left behind. */
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import type { MeltResult } from '../../src/report/result.ts'
import { allProcesses } from '../../src/watch/process-tree.ts'

const cli = fileURLToPath(new URL('../../src/cli.ts', import.meta.url))

/** A small app of apps/, by name. */
export const app = (name: string): string => fileURLToPath(new URL(`./apps/${name}.mjs`, import.meta.url))

export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
  readonly tookMs: number
  /** Of the run's folder, when it has written one. */
  readonly result: MeltResult | undefined
  readonly files: readonly string[]
  /** Command lines of processes that it started and that still live. */
  readonly strays: readonly string[]
}

/**
 * `onStderr` sees all of stderr so far, each time there is more, and may signal the process. Every process below carries
 * an environment variable of this run, by which strays are found.
 */
export async function meltlab(
  args: readonly string[],
  onStderr: (text: string, kill: (signal: NodeJS.Signals) => void) => void = () => {},
): Promise<Ended> {
  const out = mkdtempSync(path.join(os.tmpdir(), 'meltlab-test-'))
  const mark = `MELTLAB_TEST_RUN=${path.basename(out)}`
  const [name, value] = mark.split('=') as [string, string]
  const startedMs = Date.now()
  const child = spawn(process.execPath, [cli, 'melt', '--out', out, ...args], {
    env: { ...process.env, [name]: value },
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
  const tookMs = Date.now() - startedMs
  const [run] = readdirSync(out)
  const file = run === undefined ? '' : path.join(out, run, 'result.json')
  const ended: Ended = {
    code,
    stdout,
    stderr,
    tookMs,
    result: existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as MeltResult) : undefined,
    files: run === undefined ? [] : readdirSync(path.join(out, run)).sort(),
    strays: await carrying(mark),
  }
  rmSync(out, { recursive: true, force: true })
  return ended
}

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
