/** Which commit of this repository a figure was measured with. */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

const LAB = fileURLToPath(new URL('../..', import.meta.url))

/** What can change a figure, for git. Results and pages are made of figures, and change none. */
export const FIGURE_CODE: readonly string[] = [
  ...['packages', 'bench', 'apps', 'deploy', 'examples', 'scripts', 'package-lock.json'],
  ...[':!bench/results', ':!apps/results', ':!*.md'],
]

/** Ends with `+` when the code has changes that are not committed. Undefined outside of a checkout: in the published package. */
export function commitHere(): string | undefined {
  if (!existsSync(path.join(LAB, 'src'))) return undefined
  const cwd = path.join(LAB, '../..')
  const git = (...args: string[]) => spawnSync('git', args, { cwd, encoding: 'utf8' })
  const { status, stdout } = git('rev-parse', '--short=8', 'HEAD')
  if (status !== 0) return undefined
  return stdout.trim() + (git('status', '--porcelain', '--', ...FIGURE_CODE).stdout === '' ? '' : '+')
}
