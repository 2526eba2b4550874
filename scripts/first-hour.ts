/**
 * The first five minutes of a new user, with only what npm would publish. Packs both packages, installs them together
 * with Express in an empty folder, starts a plain app in a dry run, sends three times its capacity with meltlab, and
 * reads the would-be sheds in every place that the documents name. Times each step. Fails when a step fails, or when
 * all steps together take more than five minutes.
 *
 *   --keep    keeps the folder, and prints its path
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from '../packages/lab/src/launch/free-port.ts'
import { scriptOptions } from './script-options.ts'

const MOST_MS = 5 * 60_000
/** 15 ms of CPU per request: about 65 requests per second, on any machine. */
const APP = `
const express = require('express')
const app = express()
app.get('/', (request, response) => {
  const until = performance.now() + 15
  while (performance.now() < until);
  response.send('hello')
})
const server = app.listen(process.env.PORT, () => console.log('listening on', server.address().port))
`
const RATE = 200
const DURATION = '8s'

const { values } = scriptOptions(import.meta.filename, { keep: { type: 'boolean', default: false } })
const root = join(import.meta.dirname, '..')
const folder = mkdtempSync(join(tmpdir(), 'first-hour-'))
let app: ChildProcess | undefined
let saidByApp = ''
let totalMs = 0

try {
  const tarballs = await step('npm pack (not yours)', async () => {
    await run('npm', ['run', '--silent', 'build'], root)
    const packed: string[] = []
    for (const name of ['meltproof', 'lab']) {
      const output = await run('npm', ['pack', '--json', '--pack-destination', folder], join(root, 'packages', name))
      const [{ filename }] = Object.values(JSON.parse(output)) as [{ filename: string }]
      packed.push(join(folder, filename))
    }
    return packed
  })
  totalMs = 0
  await step('npm i express meltproof meltlab', async () => {
    writeFileSync(join(folder, 'package.json'), '{"private":true}')
    writeFileSync(join(folder, 'server.js'), APP)
    await run('npm', ['i', '--no-audit', '--no-fund', '--loglevel=error', 'express', ...tarballs], folder)
  })
  const [port, admin] = [await freePort(), await freePort()]
  await step('MELTPROOF_DRY_RUN=on node --import meltproof/register server.js', async () => {
    app = spawn(process.execPath, ['--import', 'meltproof/register', 'server.js'], {
      cwd: folder,
      env: { ...process.env, PORT: String(port), MELTPROOF_DRY_RUN: 'on', MELTPROOF_ADMIN: `127.0.0.1:${admin}` },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    await said(/listening on/)
    await said(/MeltproofWarning: .*is in a dry run/)
  })
  await step(`npx meltlab attack --rate ${RATE} --duration ${DURATION}`, async () => {
    const args = ['meltlab', 'attack', `http://127.0.0.1:${port}/`, '--rate', String(RATE), '--duration', DURATION]
    const { answered } = JSON.parse(await run('npx', [...args, '--json'], folder)) as {
      answered: Record<string, number>
    }
    expect(Number(answered['200']) > 0, `some answers, got ${JSON.stringify(answered)}`)
    expect(answered['503'] === undefined, `nobody shed in a dry run, got ${JSON.stringify(answered)}`)
  })
  await step('what would have been shed', async () => {
    const line = await said(/would have shed ([1-9]\d*) of (\d+) requests.*/)
    const stats = JSON.parse(await page(admin, '/stats')) as { dryRun: boolean; shed: Record<string, number> }
    const counted = Object.values(stats.shed).reduce((sum, count) => sum + count, 0)
    expect(stats.dryRun && counted > 0, `sheds of a dry run on /stats, got ${JSON.stringify(stats)}`)
    const metrics = await page(admin, '/metrics')
    expect(/^meltproof_shed_total\{.*dry_run="true".*\} [1-9]/m.test(metrics), 'sheds of a dry run on /metrics')
    const explained = await page(admin, '/explain')
    expect(/would have been shed/.test(explained), `a sentence on /explain, got ${explained}`)
    console.log(`  stderr    ${line[0]}\n  /stats    ${JSON.stringify(stats.shed)}\n  /explain  ${explained.trim()}`)
  })
  const total = `${(totalMs / 1000).toFixed(1)} s from npm i to what would have been shed`
  expect(totalMs <= MOST_MS, `at most ${MOST_MS / 1000} s, took ${total}`)
  console.log(`first hour: ${total}`)
} catch (error) {
  console.error(`first hour: ${error instanceof Error ? error.message : String(error)}`)
  process.exitCode = 1
} finally {
  app?.kill('SIGKILL')
  if (values.keep) console.log(folder)
  else rmSync(folder, { recursive: true, force: true })
}

async function step<T>(name: string, act: () => Promise<T>): Promise<T> {
  const startedMs = performance.now()
  try {
    return await act()
  } finally {
    const tookMs = performance.now() - startedMs
    totalMs += tookMs
    console.log(`${(tookMs / 1000).toFixed(1).padStart(6)} s  ${name}`)
  }
}

async function run(command: string, args: readonly string[], cwd: string): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)(command, args, { cwd, maxBuffer: 64 * 1024 * 1024 })
    return stdout
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string }
    throw new Error(`${[command, ...args].join(' ')} failed\n${stdout}${stderr}`)
  }
}

/** Waits until the output of the app matches. */
async function said(words: RegExp): Promise<RegExpExecArray> {
  const child = app!
  if (child.stdout!.listenerCount('data') === 0) {
    for (const stream of [child.stdout!, child.stderr!]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        saidByApp += text
        child.emit('said')
      })
    }
  }
  for (const until = AbortSignal.timeout(30_000); ; ) {
    const found = words.exec(saidByApp)
    if (found !== null) return found
    expect(child.exitCode === null, `the app to go on, but it ended: ${saidByApp}`)
    await Promise.race([once(child, 'said', { signal: until }), once(child, 'exit', { signal: until })]).catch(() => {
      throw new Error(`the app did not say ${words}, but: ${saidByApp}`)
    })
  }
}

async function page(port: number, path: string): Promise<string> {
  return (await fetch(`http://127.0.0.1:${port}${path}`)).text()
}

function expect(holds: boolean, what: string): void {
  if (!holds) throw new Error(`expected ${what}`)
}
