/** Runs `meltlab run NAME --brief --json` as a process of its own, checks what must hold of every run, and tidies up. */
import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import type { TestContext } from 'node:test'
import type { ScenarioResult } from '../../src/report/result.ts'
import { type CliEnd, type CliOptions, carrying, runCli } from '../run-cli.ts'

export interface RunEnd extends CliEnd {
  readonly result: ScenarioResult
}

/** Cores' worth of CPU that others may use; above it, what takes long may take too long. */
const QUIET = 0.5

export const isQuiet = ({ conditions }: ScenarioResult): boolean => (conditions.foreign?.mean ?? 0) < QUIET

/** Checks what depends on how fast the machine is. On a busy one the test is skipped if that does not hold. */
export function onAQuietMachine(context: TestContext, result: ScenarioResult, check: () => void): void {
  try {
    check()
  } catch (error) {
    if (isQuiet(result)) throw error
    context.skip(`something else used ${Math.round(100 * result.conditions.foreign!.mean)} % of a core`)
  }
}

/** The code is 0 unless `expectCode` says otherwise. On a busy machine it may be 3: an expectation failed. */
export async function runCommand(name: string, expectCode = 0, onStderr?: CliOptions['onStderr']): Promise<RunEnd> {
  const out = mkdtempSync(path.join(os.tmpdir(), 'meltlab-run-'))
  const mark = path.basename(out)
  const { code, stdout, stderr } = await runCli(['run', name, '--brief', '--json', '--out', out], { onStderr, mark })
  try {
    const [run] = readdirSync(out)
    assert.match(run ?? '', new RegExp(`-${name}$`), stderr)
    assert.deepEqual(readdirSync(path.join(out, run!)).sort(), ['picture.svg', 'report.html', 'result.json'])
    const read = (file: string): string => readFileSync(path.join(out, run!, file), 'utf8')
    assert.doesNotMatch(read('report.html') + read('picture.svg'), /NaN|undefined|Infinity/)
    assert.deepEqual(await carrying(mark), [], 'processes that outlived the run')
    const result = JSON.parse(read('result.json')) as ScenarioResult
    if (code !== 3 || isQuiet(result)) assert.equal(code, expectCode, stderr)
    assert.deepEqual(JSON.parse(stdout), result)
    assert.equal(
      result.verdicts.some(each => each.verdict === 'fail'),
      code === 3,
    )
    return { result, code, stdout, stderr }
  } finally {
    rmSync(out, { recursive: true, force: true })
  }
}
