/** Runs `meltlab run NAME --brief --json` in its own process, checks what must hold for every run, and cleans up. */
import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import type { ScenarioResult } from '../../src/report/result.ts'
import { isQuiet } from '../quiet-machine.ts'
import { type CliEnd, type CliOptions, carrying, runCli } from '../run-cli.ts'

export interface RunEnd extends CliEnd {
  readonly result: ScenarioResult
}

/** CPU that other programs used during the run, cores. */
export const foreignOf = ({ conditions }: ScenarioResult): number | undefined => conditions.foreign?.mean

/** The exit code must be 0 unless `expectCode` is given. On a busy machine it may be 3: an expectation failed. */
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
    if (code !== 3 || isQuiet(foreignOf(result))) assert.equal(code, expectCode, stderr)
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
