/** Results of several runs: the figures of an earlier run stay while the code, machine and settings are the same. */
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { FIGURE_CODE } from '../../packages/lab/src/experiment/commit.ts'
import type { Conditions } from './conditions.ts'

const ROOT = join(import.meta.dirname, '../..')

export const resultFile = (name: string): string => join(ROOT, `bench/results/${name}.json`)

/** Undefined if there is no result yet. */
export function readResult<T>(name: string): T | undefined {
  const file = resultFile(name)
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as T) : undefined
}

export type Settings = Readonly<Record<string, unknown>>

/** Returns the earlier result if the next run may add to it; otherwise it prints the reason on stderr. */
export function extendable<T extends Conditions>(
  earlier: T | undefined,
  where: Conditions,
  settings: Settings,
): T | undefined {
  if (earlier === undefined) return undefined
  const why = whyOther(earlier, where, settings)
  if (why === undefined) return earlier
  console.error(`Starting a new result: the earlier figures have a different ${why}.`)
  return undefined
}

/** The conditions for a result of several runs: those of this run, with the highest load average of all runs. */
export const together = (earlier: Conditions | undefined, where: Conditions): Conditions => ({
  ...where,
  loadBefore: Math.max(where.loadBefore, earlier?.loadBefore ?? 0),
})

/** The name of the setting or condition that differs; undefined if the runs belong together. Pure if `sameCode` is. */
export function whyOther(
  earlier: Conditions,
  where: Conditions,
  settings: Settings,
  sameCode: (commit: string) => boolean = isThisCode,
): string | undefined {
  const of = earlier as unknown as Settings
  for (const [name, value] of Object.entries(settings)) {
    if (JSON.stringify(of[name]) !== JSON.stringify(value)) return name
  }
  for (const name of ['cpu', 'cores', 'node', 'kernel'] as const) if (earlier[name] !== where[name]) return name
  if (earlier.commit === where.commit) return undefined
  // A commit with uncommitted changes does not identify the code.
  const isKnown = [earlier, where].every(({ commit = '+' }) => !commit.endsWith('+'))
  return isKnown && sameCode(earlier.commit!) ? undefined : 'commit'
}

/** Whether only documents and results have changed since this commit. */
const isThisCode = (commit: string): boolean =>
  spawnSync('git', ['diff', '--quiet', commit, '--', ...FIGURE_CODE], { cwd: ROOT }).status === 0
