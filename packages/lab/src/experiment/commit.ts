/** The commit of this repository with which a figure was measured. */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

const LAB = fileURLToPath(new URL('../..', import.meta.url))

/** Paths whose content can change a figure. Results and pages are derived from figures, so they are excluded. */
export const FIGURE_CODE: readonly string[] = [
  ...['packages', 'bench', 'apps', 'deploy', 'examples', 'scripts', 'package-lock.json'],
  ...[':!bench/results', ':!apps/results', ':!*.md'],
]

/** Ends with `+` if the code has uncommitted changes. Undefined outside a checkout, as in the published package. */
export function commitHere(): string | undefined {
  if (!existsSync(path.join(LAB, 'src'))) return undefined
  const cwd = path.join(LAB, '../..')
  const git = (...args: string[]) => spawnSync('git', args, { cwd, encoding: 'utf8' })
  const { status, stdout } = git('rev-parse', '--short=8', 'HEAD')
  if (status !== 0) return undefined
  return stdout.trim() + (git('status', '--porcelain', '--', ...FIGURE_CODE).stdout === '' ? '' : '+')
}
