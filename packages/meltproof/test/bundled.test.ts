/** An app that a bundler has made into one CommonJS file runs as it does with meltproof's own files. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { build, type Plugin } from 'esbuild'

const scratch = mkdtempSync(join(tmpdir(), 'meltproof-bundled-'))
after(() => rmSync(scratch, { recursive: true }))
const run = promisify(execFile)

/** Bundles the app, runs the bundle in this folder, and returns what it has printed. */
async function printed(app: string, folder: string, plugins: Plugin[] = []): Promise<string> {
  const outfile = join(scratch, folder, 'app.cjs')
  await build({
    stdin: { contents: app, resolveDir: import.meta.dirname },
    outfile,
    plugins,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    // In this format esbuild warns that `import.meta` is empty.
    logLevel: 'error',
  })
  const { stdout } = await run(process.execPath, [outfile], { env: { ...process.env, NODE_OPTIONS: '' } })
  return stdout.trim()
}

/** As webpack does, replaces `import.meta.url` by the URL of the file that the bundle was made of. */
const sourceUrls: Plugin = {
  name: 'URLs of source files',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]meltproof[\\/]dist[\\/].*\.js$/ }, ({ path }) => ({
      contents: readFileSync(path, 'utf8').replaceAll('import.meta.url', JSON.stringify(pathToFileURL(path).href)),
    }))
  },
}

test('meltproof/culprit starts in a bundle', async () => {
  const app = `
    import { watchStalls } from 'meltproof/culprit'
    const stop = watchStalls({ onWarning: console.log })
    stop()
    console.log('started')`
  assert.equal(await printed(app, 'culprit'), 'started')
})

test('meltproof/otel in a bundle finds the installed package, or throws the documented error', async () => {
  const app = `
    import { createServer } from 'node:http'
    import { protect } from 'meltproof'
    import { instrument } from 'meltproof/otel'
    const guard = protect(createServer())
    try {
      instrument(guard)()
      console.log('instrumented')
    } catch (error) {
      console.log(error.code)
    }
    guard.close()`
  assert.equal(await printed(app, 'missing'), 'MELTPROOF_PEER_MISSING')
  mkdirSync(join(scratch, 'installed'))
  symlinkSync(join(import.meta.dirname, '../../../node_modules'), join(scratch, 'installed/node_modules'))
  assert.equal(await printed(app, 'installed'), 'instrumented')
})

for (const [what, plugins] of [
  ['has no import.meta.url', []],
  ['has the URLs of its source files', [sourceUrls]],
] as const) {
  test(`requests are recorded in a bundle that ${what}`, async () => {
    const app = `
      import { subscribe } from 'node:diagnostics_channel'
      import { createServer, get } from 'node:http'
      import { protect } from 'meltproof'
      let records = 0
      subscribe('meltproof:request', () => records++)
      const server = createServer((_, response) => response.end())
      protect(server)
      server.listen(0, '127.0.0.1', async () => {
        const { port } = server.address()
        for (let i = 0; i < 100 && records === 0; i++) {
          await new Promise(resolve => {
            get({ port, host: '127.0.0.1', agent: false }, response => response.resume().on('close', resolve))
          })
          await new Promise(resolve => setTimeout(resolve, 10))
        }
        console.log(records > 0 ? 'recorded' : 'not recorded')
        server.close()
      })`
    assert.equal(await printed(app, `records-${plugins.length}`, [...plugins]), 'recorded')
  })
}
