/** Runs `meltlab melt` in its own process, and reads the folder it wrote. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import type { MeltMeasured } from '../../src/melt/measured.ts'
import type { ScenarioResult } from '../../src/report/result.ts'
import { type CliEnd, type CliOptions, carrying, runCli } from '../run-cli.ts'

/** A small app of apps/, by name. */
export const app = (name: string): string => fileURLToPath(new URL(`./apps/${name}.mjs`, import.meta.url))

type MeltResult = ScenarioResult & { readonly measured: MeltMeasured }

export interface Ended extends CliEnd {
  /** Result in the folder of the run, if it was written. */
  readonly result: MeltResult | undefined
  readonly files: readonly string[]
  /** Command lines of processes that it started and that still run. */
  readonly strays: readonly string[]
}

export async function meltlab(args: readonly string[], onStderr?: CliOptions['onStderr']): Promise<Ended> {
  const out = mkdtempSync(path.join(os.tmpdir(), 'meltlab-test-'))
  const mark = path.basename(out)
  const { code, stdout, stderr } = await runCli(['melt', '--out', out, ...args], { onStderr, mark })
  const [run] = readdirSync(out)
  const file = run === undefined ? '' : path.join(out, run, 'result.json')
  const ended: Ended = {
    code,
    stdout,
    stderr,
    result: existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as MeltResult) : undefined,
    files: run === undefined ? [] : readdirSync(path.join(out, run)).sort(),
    strays: await carrying(mark),
  }
  rmSync(out, { recursive: true, force: true })
  return ended
}
