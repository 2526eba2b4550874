/**
 * Makes PM2 from npm reload an app without shutdown code, under load. With plain Node, requests are reset. Under
 * register, as configured in docs/deploy/pm2.md, none is reset, every request has its line in the log of PM2, and one
 * admin port has the figures of all workers, whose counters never fall. A misspelt variable is reported once at the
 * start and once per reload.
 */
import { execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { runInNewContext } from 'node:vm'
import { freePort } from '../packages/lab/src/launch/free-port.ts'
import { blocksOf } from '../test/docs/blocks.ts'

const PM2 = 'pm2@7.0.4'
const REQUESTS = 600
const EVERY_MS = 10
const SCRAPE_EACH = 20
const APP = `
require('node:http').createServer((_, response) => {
  console.log('line')
  setTimeout(() => response.end('ok'), 100)
}).listen(process.env.PORT)
`

const folder = mkdtempSync(join(tmpdir(), 'meltproof-pm2-'))
const command = join(folder, 'node_modules/pm2/bin/pm2')
const environment = { ...process.env, PM2_HOME: join(folder, 'home') }
try {
  writeFileSync(join(folder, 'package.json'), '{"private":true}')
  execFileSync('npm', ['install', '--no-audit', '--no-fund', '--loglevel=error', PM2], { cwd: folder })
  writeFileSync(join(folder, 'app.cjs'), APP)
  let failed = false
  for (const mode of ['bare', 'register']) {
    const { lost, lines, scrapes, warnings } = await reload(mode)
    console.log(`pm2 check: ${mode}: ${lost} of ${REQUESTS} requests lost, ${lines} lines logged`)
    if (mode === 'bare') continue
    const [first, ...rest] = scrapes
    const counts = scrapes.map(({ admitted }) => admitted)
    const falls = rest.some(({ admitted }, i) => admitted < counts[i]!)
    const workers = scrapes.at(-1)?.lanes
    console.log(`pm2 check: register: ${workers} workers on the admin port, admitted: ${counts.join(' ')}`)
    console.log(`pm2 check: register: ${warnings} warnings of a variable that is wrong`)
    // A new worker does not warn again while the worker that has warned still runs.
    failed ||= warnings < 1 || warnings > 2
    failed ||= lost > 0 || lines !== REQUESTS || first === undefined || falls || workers !== documentedApp().instances
  }
  process.exitCode = failed ? 1 : 0
} finally {
  rmSync(folder, { recursive: true, force: true })
}

/** The settings in the document. */
function documentedApp(): { readonly node_args: string; readonly instances: number; readonly env: object } {
  const [block] = blocksOf(readFileSync(join(import.meta.dirname, '../docs/deploy/pm2.md'), 'utf8'))
  const module: { exports?: { apps: [ReturnType<typeof documentedApp>] } } = {}
  runInNewContext(block!.code, { module, require: createRequire(import.meta.url) })
  return module.exports!.apps[0]
}

interface Scrape {
  readonly admitted: number
  /** One per worker. */
  readonly lanes: number
}

interface Reloaded {
  readonly lost: number
  readonly lines: number
  readonly scrapes: readonly Scrape[]
  readonly warnings: number
}

async function reload(mode: string): Promise<Reloaded> {
  const [port, adminPort] = [await freePort(), await freePort()]
  const scrapes: Scrape[] = []
  const log = join(folder, `${mode}.log`)
  const errors = join(folder, `${mode}.errors`)
  const { node_args, env, ...documented } = documentedApp()
  const settings = {
    ...documented,
    name: 'app',
    script: join(folder, 'app.cjs'),
    merge_logs: true,
    out_file: log,
    error_file: errors,
    ...(mode === 'bare' ? {} : { node_args }),
    env: { ...env, PORT: port, MELTPROOF_ADMIN: `127.0.0.1:${adminPort}`, MELTPROOF_LIMT: '1' },
  }
  writeFileSync(join(folder, 'app.config.cjs'), `module.exports = ${JSON.stringify({ apps: [settings] })}`)
  try {
    pm2('start', join(folder, 'app.config.cjs'))
    while (!(await answers({ port, agent: new http.Agent() }))) await sleep(100)
    const agents = [new http.Agent({ keepAlive: true }), new http.Agent()] as const
    const answered: Promise<boolean>[] = []
    for (let i = 0; i < REQUESTS; i++) {
      if (i === REQUESTS / 4) spawn(process.execPath, [command, 'reload', 'app'], { env: environment, stdio: 'ignore' })
      answered.push(answers({ port, agent: agents[i % 2]! }))
      if (i % SCRAPE_EACH === 0) await scrape(adminPort, scrapes)
      await sleep(EVERY_MS)
    }
    const lost = (await Promise.all(answered)).filter(ok => !ok).length
    agents[0].destroy()
    await scrape(adminPort, scrapes)
    pm2('stop', 'app')
    const lines = readFileSync(log, 'utf8')
      .split('\n')
      .filter(line => line === 'line').length
    const warnings = readFileSync(errors, 'utf8').split('MELTPROOF_LIMT is not known').length - 1
    return { lost, lines: lines - 1, scrapes, warnings } // Without the line of the first answer.
  } finally {
    pm2('kill')
  }
}

function pm2(...args: string[]): void {
  execFileSync(process.execPath, [command, ...args], { env: environment, stdio: 'ignore' })
}

/** Adds nothing while no worker owns the admin port, which happens when one worker hands it over to another. */
async function scrape(port: number, scrapes: Scrape[]): Promise<void> {
  const text = await fetch(`http://127.0.0.1:${port}/metrics`).then(
    answer => answer.text(),
    () => '',
  )
  const figure = (name: string): number => Number(new RegExp(`^meltproof_${name} (\\d+)$`, 'm').exec(text)?.[1])
  const [admitted, lanes] = [figure('admitted_total'), figure('lanes')]
  if (admitted >= 0) scrapes.push({ admitted, lanes })
}

function answers(options: http.RequestOptions): Promise<boolean> {
  return new Promise(resolve => {
    const request = http.get({ ...options, host: 'localhost' }, response => {
      response.resume().on('end', () => resolve(response.statusCode === 200))
      response.on('error', () => resolve(false))
    })
    request.on('error', () => resolve(false))
  })
}
