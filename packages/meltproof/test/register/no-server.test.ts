/**
 * A process without a server that inherits `--import meltproof/register` behaves as without it, whatever options are
 * set.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { get, IMPORT, REGISTER, start } from './child.ts'

const REQUIRED = createRequire(import.meta.url).resolve('meltproof/register')
const REQUIRE = ['--require', REQUIRED]
const EVERYTHING = {
  MELTPROOF_OUTBOUND: 'on',
  MELTPROOF_STDOUT: 'on',
  MELTPROOF_DRAIN: 'on',
  MELTPROOF_DRY_RUN: 'on',
  MELTPROOF_ACCESS_LOG: 'json',
  MELTPROOF_ADMIN: '127.0.0.1:1',
  MELTPROOF_CULPRIT: 'on',
}
/**
 * Empty modules, loaded with `--import` and `--require` like register, because each flag loads some of Node's modules.
 */
const [EMPTY_MJS, EMPTY_CJS] = ['mjs', 'cjs'].map(kind => {
  const file = join(mkdtempSync(join(tmpdir(), 'empty-')), `empty.${kind}`)
  writeFileSync(file, '')
  return file
}) as [string, string]

async function loadedBy(app: string, node: readonly string[], env = {}): Promise<string[]> {
  // Without the channel to its parent that start() opens, which would load `net`.
  const { stdout, stderr } = await run(process.execPath, [...node, appFile(app)], { env: { ...inherited(), ...env } })
  assert.equal(stderr, '')
  return (JSON.parse(stdout) as string[]).sort()
}

const run = promisify(execFile)
const appFile = (app: string): string => fileURLToPath(new URL(`apps/${app}`, import.meta.url))

function inherited(): NodeJS.ProcessEnv {
  const { NODE_OPTIONS: _, ...rest } = process.env
  return rest
}

describe('register in a process without a server', () => {
  for (const app of ['job.cjs', 'job.mjs']) {
    for (const [how, node, empty] of [
      ['--import', IMPORT, ['--import', pathToFileURL(EMPTY_MJS).href]],
      ['--require', REQUIRE, ['--require', EMPTY_CJS]],
    ] as const) {
      for (const [name, env] of Object.entries({ on: EVERYTHING, off: { MELTPROOF: 'off' } })) {
        it(`loads no further module of Node with ${how} and ${app}, ${name}`, async () => {
          assert.deepEqual(await loadedBy(app, node, env), await loadedBy(app, empty))
        })
      }
    }
  }

  it('loads nothing in a worker thread until it listens, and then protects it', async () => {
    const [bare, registered] = await Promise.all(
      [['--import', pathToFileURL(EMPTY_MJS).href], IMPORT].map(async node => {
        const { code, stdout, stderr } = await start('thread.mjs', {
          node,
          env: { ...EVERYTHING, MELTPROOF_ACCESS_LOG: 'off' },
        }).ended
        assert.equal(code, 0, stderr)
        return JSON.parse(stdout) as { loaded: string[]; answer: string }
      }),
    )
    assert.deepEqual(registered!.loaded.sort(), bare!.loaded.sort())
    assert.deepEqual([bare!.answer, registered!.answer], ['bare', 'protected'])
  })

  it('starts no watcher for a child that inherits NODE_OPTIONS and blocks its event loop', async () => {
    const [bare, registered] = await Promise.all(
      [pathToFileURL(EMPTY_MJS).href, REGISTER].map(file =>
        run(process.execPath, [appFile('spins.mjs')], {
          env: { ...inherited(), ...EVERYTHING, NODE_OPTIONS: `--import ${file}` },
        }),
      ),
    )
    assert.deepEqual(registered, bare)
    assert.deepEqual(registered, { stdout: 'main thread only\n', stderr: '' })
  })

  it('runs a program that only require can load, if NODE_OPTIONS has --require', async t => {
    const folder = mkdtempSync(join(tmpdir(), 'required-'))
    t.after(() => rmSync(folder, { recursive: true }))
    writeFileSync(join(folder, 'a.foo'), 'console.log(require.main === module)')
    const [bare, registered] = await Promise.all(
      [{}, { ...EVERYTHING, NODE_OPTIONS: `--require=${REQUIRED}` }].map(env =>
        run(process.execPath, [join(folder, 'a.foo')], { env: { ...inherited(), ...env } }),
      ),
    )
    assert.deepEqual(registered, bare)
    assert.equal(registered!.stdout, 'true\n')
  })

  it('keeps every line of a job that logs faster than its reader reads', async () => {
    const { out } = await piped('gzip | gzip -d | wc -l', { ...EVERYTHING, LINES: '600000' })
    assert.equal(out, '600000')
  })

  it('ends a command whose reader has closed, as Node does', async () => {
    const [bare, registered] = await Promise.all(
      [[], IMPORT].map(node => piped('head -2', { ...EVERYTHING, LINES: 'Infinity' }, node)),
    )
    assert.deepEqual(registered, bare)
    assert.equal(registered!.out, 'line 0\nline 1')
  })

  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    it(`leaves ${signal} to Node`, async () => {
      const child = start('idle.mjs', { env: EVERYTHING })
      await child.port()
      child.process.kill(signal)
      assert.deepEqual((await child.ended).signal, signal)
    })
  }
})

describe('register', () => {
  for (const EARLY of ['node:net', 'node:http', 'node:cluster']) {
    it(`protects servers of a process that loaded ${EARLY} before`, async () => {
      const preload = `data:text/javascript,process.getBuiltinModule('${EARLY}')`
      const child = start('http.cjs', { node: ['--import', preload, ...IMPORT] })
      assert.equal(await get(await child.port(), '/stop'), 'admitted 1')
      assert.equal((await child.ended).code, 0)
    })
  }

  it('leaves servers unprotected, with one warning, in a Node that is too old', async () => {
    const versions = JSON.stringify({ ...process.versions, node: '22.11.0' })
    const older = `data:text/javascript,Object.defineProperty(process,'versions',{value:${versions}})`
    const child = start('two-servers.mjs', { node: ['--import', older, ...IMPORT] })
    for (let server = 0; server < 2; server++) assert.equal(await get(await child.port()), 'served')
    child.process.kill()
    const { stderr } = await child.ended
    assert.equal(stderr.match(/meltproof\/register needs Node 22\.12 or later/g)?.length, 1, stderr)
  })

  it('leaves servers unprotected, with one warning, when the rest of it cannot be loaded', async t => {
    const folder = mkdtempSync(join(tmpdir(), 'alone-'))
    t.after(() => rmSync(folder, { recursive: true }))
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
    copyFileSync(new URL(REGISTER), join(folder, 'register.js'))
    const node = ['--import', pathToFileURL(join(folder, 'register.js')).href]
    const child = start('two-servers.mjs', { node })
    for (let server = 0; server < 2; server++) assert.equal(await get(await child.port()), 'served')
    child.process.kill()
    const { stderr } = await child.ended
    assert.equal(stderr.match(/meltproof\/register could not be loaded; servers run unprotected/g)?.length, 1, stderr)
  })
})

/** Returns the output of `job.mjs | reader`, and how the job ended. */
async function piped(
  reader: string,
  env: Record<string, string>,
  node: readonly string[] = IMPORT,
): Promise<{ out: string; codes: string }> {
  const script = `"$0" "$@" 2>/dev/null | (${reader}); echo "\${PIPESTATUS[0]}"`
  const { stdout } = await run('bash', ['-c', script, process.execPath, ...node, appFile('job.mjs')], {
    env: { ...inherited(), ...env },
  })
  const lines = stdout.trim().split('\n')
  return { codes: lines.pop()!, out: lines.join('\n').trim() }
}
