/**
 * Checks the packages that a user would get: packs both, checks the tarballs (publint, are-the-types-wrong), installs
 * them into an empty folder and imports every entry by name, from ESM, from CJS and in Jest, which has its own
 * require().
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

/** Jest 30 loads ES modules on Node 24.9 and later. This version does not on any Node. */
const JEST = 'jest@29.7.0'

const folder = mkdtempSync(join(tmpdir(), 'meltproof-pack-'))
const imported: string[] = []
try {
  run('npm', ['run', '--silent', 'build'], root)
  const tarballs = PACKAGES.map(dir => {
    const output = run('npm', ['pack', '--json', '--pack-destination', folder], dir)
    return join(folder, tarballName(output))
  })
  for (const tarball of tarballs) {
    run('npx', ['publint', '--strict', tarball], root)
    run('npx', ['attw', tarball], root)
  }
  const app = mkdtempSync(join(folder, 'app-'))
  writeFileSync(join(app, 'package.json'), '{"private":true}')
  run('npm', ['install', '--no-audit', '--no-fund', '--loglevel=error', ...tarballs, JEST], app)
  for (const dir of PACKAGES) {
    const { name, exports, bin } = JSON.parse(readFileSync(join(dir, 'package.json'), 'utf8')) as Manifest
    for (const entry of Object.keys(exports)) {
      const specifier = name + entry.slice(1)
      if (entry.endsWith('.json')) continue
      run(process.execPath, ['--input-type=module', '-e', `await import('${specifier}')`], app)
      run(process.execPath, ['--input-type=commonjs', '-e', `require('${specifier}')`], app)
      imported.push(specifier)
    }
    for (const command of Object.keys(bin ?? {})) run(join(app, 'node_modules/.bin', command), ['--help'], app)
  }
  const jestTest = `test.each(${JSON.stringify(imported)})('%s', name => expect(require(name)).toBeDefined())`
  writeFileSync(join(app, 'all.test.js'), jestTest)
  run(process.execPath, [join(app, 'node_modules/jest/bin/jest.js')], app)
  const count = `${tarballs.length} tarballs installed, ${imported.length} entries`
  console.log(`pack check: ${count} imported from ESM and CJS and in Jest`)
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

/** npm prints a list, or (from npm 12) an object by package name. */
function tarballName(output: string): string {
  const parsed: unknown = JSON.parse(output)
  const [first] = Object.values(parsed as Record<string, { filename: string }>)
  return first!.filename
}
