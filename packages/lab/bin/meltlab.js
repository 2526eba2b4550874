#!/usr/bin/env node
/**
 * The command's file. npm links a command only to a file that is there when it installs, and in a checkout dist/ is built
 * later: so this one is committed, and in a checkout it builds what is missing. The published package has dist/.
 */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const pathOf = relative => fileURLToPath(new URL(relative, import.meta.url))

if (!existsSync(pathOf('../dist/cli.js')) && existsSync(pathOf('../src/cli.ts'))) {
  process.stderr.write('meltlab: a checkout that is not built yet; building it (npm run build)\n')
  // stdout is the command's own: --json promises one document there. npm is a script of the shell on Windows.
  const { status } = spawnSync('npm run --silent build', {
    cwd: pathOf('../../..'),
    shell: true,
    stdio: ['ignore', process.stderr, 'inherit'],
  })
  if (status !== 0 || !existsSync(pathOf('../dist/cli.js'))) {
    process.stderr.write('meltlab: it could not be built: run `npm ci && npm run build` in the checkout and see why\n')
    process.exit(2)
  }
}
await import('../dist/cli.js')
