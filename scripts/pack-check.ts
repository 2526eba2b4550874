/**
 * What a user would get: packs both packages, checks the tarballs (publint, are-the-types-wrong), installs them into
 * an empty folder and imports every entry, by name, from ESM and from CJS.
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')
const PACKAGES = ['meltproof', 'lab'].map(folder => join(root, 'packages', folder))

interface Manifest {
  readonly name: string
  readonly exports: Readonly<Record<string, unknown>>
  readonly bin?: Readonly<Record<string, string>>
}

const folder = mkdtempSync(join(tmpdir(), 'meltproof-pack-'))
let imported = 0
try {
  run('npm', ['run', '--silent', 'build'], root)
  const tarballs = PACKAGES.map(dir => {
    const output = run('npm', ['pack', '--json', '--pack-destination', folder], dir)
    return join(folder, tarballName(output))
  })
  for (const tarball of tarballs) {
    run('npx', ['publint', '--strict', tarball], root)
    run('npx', ['attw', '--profile', 'esm-only', tarball], root)
  }
  const app = mkdtempSync(join(folder, 'app-'))
  writeFileSync(join(app, 'package.json'), '{"private":true}')
  run('npm', ['install', '--no-audit', '--no-fund', '--loglevel=error', ...tarballs], app)
  for (const dir of PACKAGES) {
    const { name, exports, bin } = JSON.parse(readFileSync(join(dir, 'package.json'), 'utf8')) as Manifest
    for (const entry of Object.keys(exports)) {
      const specifier = name + entry.slice(1)
      if (entry.endsWith('.json')) continue
      run(process.execPath, ['--input-type=module', '-e', `await import('${specifier}')`], app)
      run(process.execPath, ['--input-type=commonjs', '-e', `require('${specifier}')`], app)
      imported++
    }
    for (const command of Object.keys(bin ?? {})) run(join(app, 'node_modules/.bin', command), ['--help'], app)
  }
  console.log(`pack check: ${tarballs.length} tarballs installed, ${imported} entries imported from ESM and CJS`)
} finally {
  rmSync(folder, { recursive: true, force: true })
}

function run(command: string, args: readonly string[], cwd: string): string {
  try {
    return execFileSync(command, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
  } catch (error) {
    const { stdout, stderr } = error as { stdout?: string; stderr?: string }
    console.error(`pack check: ${[command, ...args].join(' ')} failed\n${stdout ?? ''}${stderr ?? ''}`)
    process.exit(1)
  }
}

/** npm answers with a list, or (from npm 12) with an object by package name. */
function tarballName(output: string): string {
  const parsed: unknown = JSON.parse(output)
  const [first] = Object.values(parsed as Record<string, { filename: string }>)
  return first!.filename
}
