/**
 * PM2 from npm reloads an app that has no code for its end, under load. As Node has it, requests are reset; under
 * register, as docs/register.md sets it up, none is, and every request has its line in PM2's log.
 */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import { createRequire } from 'node:module'
import net from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const PM2 = 'pm2@7.0.4'
const REQUESTS = 600
const EVERY_MS = 10
const APP = `
require('node:http').createServer((_, response) => {
  console.log('line')
  setTimeout(() => response.end('ok'), 100)
}).listen(process.env.PORT)
`

const register = createRequire(import.meta.url).resolve('meltproof/register')
const folder = mkdtempSync(join(tmpdir(), 'meltproof-pm2-'))
const command = join(folder, 'node_modules/pm2/bin/pm2')
const environment = { ...process.env, PM2_HOME: join(folder, 'home') }
try {
  writeFileSync(join(folder, 'package.json'), '{"private":true}')
  execFileSync('npm', ['install', '--no-audit', '--no-fund', '--loglevel=error', PM2], { cwd: folder })
  writeFileSync(join(folder, 'app.cjs'), APP)
  let failed = false
  for (const mode of ['bare', 'register']) {
    const { lost, lines } = await reload(mode)
    console.log(`pm2 check: ${mode}: ${lost} of ${REQUESTS} requests lost, ${lines} lines logged`)
    failed ||= mode === 'register' && (lost > 0 || lines !== REQUESTS)
  }
  process.exitCode = failed ? 1 : 0
} finally {
  rmSync(folder, { recursive: true, force: true })
}

async function reload(mode: string): Promise<{ lost: number; lines: number }> {
  const port = await freePort()
  const log = join(folder, `${mode}.log`)
  const settings = {
    name: 'app',
    script: join(folder, 'app.cjs'),
    exec_mode: 'cluster',
    instances: 2,
    kill_timeout: 30_000,
    merge_logs: true,
    out_file: log,
    ...(mode === 'bare' ? {} : { node_args: `--require=${register}` }),
    env: { PORT: port, MELTPROOF_DRAIN: 'on', MELTPROOF_DRAIN_DELAY: '0ms' },
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
      await sleep(EVERY_MS)
    }
    const lost = (await Promise.all(answered)).filter(ok => !ok).length
    agents[0].destroy()
    pm2('stop', 'app')
    const lines = readFileSync(log, 'utf8')
      .split('\n')
      .filter(line => line === 'line').length
    return { lost, lines: lines - 1 } // That of the first answer.
  } finally {
    pm2('kill')
  }
}

function pm2(...args: string[]): void {
  execFileSync(process.execPath, [command, ...args], { env: environment, stdio: 'ignore' })
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

async function freePort(): Promise<number> {
  const server = net.createServer().listen(0)
  await once(server, 'listening')
  const { port } = server.address() as net.AddressInfo
  server.close()
  return port
}
