/** The file that npm links as `meltlab`. In a checkout without a build, it builds; otherwise it does not. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test } from 'node:test'

const lab = join(import.meta.dirname, '..')
const SAYS = 'process.stdout.write(process.argv.slice(2).join())'

/**
 * Creates a repository with these files, runs `meltlab a b` in it, and returns the result. `build` is its build script.
 */
function ran(files: Readonly<Record<string, string>>, build = 'false') {
  const root = mkdtempSync(join(tmpdir(), 'meltlab bin-'))
  try {
    const folder = join(root, 'packages/lab')
    mkdirSync(join(folder, 'bin'), { recursive: true })
    cpSync(join(lab, 'bin/meltlab.js'), join(folder, 'bin/meltlab.js'))
    writeFileSync(join(root, 'package.json'), JSON.stringify({ scripts: { build } }))
    for (const [name, text] of Object.entries({ 'package.json': '{"type":"module"}', ...files })) {
      mkdirSync(dirname(join(folder, name)), { recursive: true })
      writeFileSync(join(folder, name), text)
    }
    const { status, stdout, stderr } = spawnSync(process.execPath, [join(folder, 'bin/meltlab.js'), 'a', 'b'], {
      encoding: 'utf8',
    })
    return { status, stdout, stderr }
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
}

test('package.json links a file that is in the repository', () => {
  const { bin, files } = JSON.parse(readFileSync(join(lab, 'package.json'), 'utf8')) as {
    bin: { meltlab: string }
    files: string[]
  }
  assert.equal(bin.meltlab, 'bin/meltlab.js')
  assert.ok(existsSync(join(lab, bin.meltlab)) && files.includes('bin'))
})

test('bin/meltlab.js runs the build if there is one, and prints nothing else', () => {
  const { status, stdout, stderr } = ran({ 'src/cli.ts': '', 'dist/cli.js': SAYS })
  assert.deepEqual({ status, stdout, stderr }, { status: 0, stdout: 'a,b', stderr: '' })
})

test('bin/meltlab.js builds a checkout that is not built, and prints the build output on stderr only', () => {
  const build = 'echo building && mkdir packages/lab/dist && cp packages/lab/src/cli.ts packages/lab/dist/cli.js'
  const { status, stdout, stderr } = ran({ 'src/cli.ts': SAYS }, build)
  assert.deepEqual({ status, stdout }, { status: 0, stdout: 'a,b' })
  assert.match(stderr, /building/)
})

test('bin/meltlab.js says what to run if the build fails', () => {
  const { status, stdout, stderr } = ran({ 'src/cli.ts': SAYS })
  assert.deepEqual({ status, stdout }, { status: 2, stdout: '' })
  assert.match(stderr, /npm ci && npm run build/)
})
