/**
 * What a line of log costs the service in CPU when its reader takes a tenth of the lines: the scenario's own app without
 * its database (the cheapest handler there is, so the dearest line), on a pipe that is set to block, without a logger
 * with console.log into /dev/null, and with console.log under meltproof/stdout, in turn. CPU per request, because it can be measured on a busy machine.
 * `node bench/stdout-cost.ts [rounds]`, after `npm run build`.
 */
import { execFileSync, spawn } from 'node:child_process'
import fs from 'node:fs'
import http from 'node:http'
import net from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const rounds = Number(process.argv[2] ?? 5)
const SECONDS = 3
const USERS = 50
const folder = fs.mkdtempSync(join(tmpdir(), 'meltproof-bench-'))
const app = fileURLToPath(new URL('../packages/lab/apps/log-service.js', import.meta.url))
const install = new URL('../packages/lab/apps/install-stdout.js', import.meta.url).href
const TICKS = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }))

const sleep = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))

function cpuMs(pid: number): number {
  const fields = fs.readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
  return ((Number(fields[11]) + Number(fields[12])) / TICKS) * 1000
}

async function freePort(): Promise<number> {
  const server = net.createServer().listen(0)
  await new Promise(resolve => server.once('listening', resolve))
  const { port } = server.address() as net.AddressInfo
  await new Promise(resolve => server.close(resolve))
  return port
}

/** CPU of the service per request, in microseconds. */
async function measure(
  logger: 'none' | 'console',
  protect: boolean,
  name: string,
  to: 'pipe' | 'null' = 'pipe',
): Promise<number> {
  const pipe = join(folder, name)
  execFileSync('mkfifo', [pipe])
  const readFd = fs.openSync(pipe, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK)
  const writeFd = fs.openSync(pipe, 'w')
  const port = await freePort()
  const { NODE_OPTIONS: _, ...env } = process.env
  const child = spawn(process.execPath, [app], {
    env: {
      ...env,
      PORT: String(port),
      LOGGER: logger,
      BLOCKING: '1',
      ...(protect ? { NODE_OPTIONS: `--import=${install}` } : {}),
    },
    stdio: ['ignore', to === 'null' ? 'ignore' : writeFd, 'ignore'],
  })
  fs.closeSync(writeFd)
  const buffer = Buffer.alloc(4096)
  // About 100 lines of 100 bytes every 50 ms: far less than is logged.
  const reader = setInterval(() => {
    try {
      fs.readSync(readFd, buffer)
    } catch {
      // Nothing there yet.
    }
  }, 20)
  const agent = new http.Agent({ keepAlive: true, maxSockets: USERS })
  const get = (): Promise<boolean> =>
    new Promise(resolve => {
      http
        .get({ port, agent, path: '/positions' }, response => response.resume().on('end', () => resolve(true)))
        .on('error', () => resolve(false))
    })
  while (!(await get())) await sleep(50)
  let done = 0
  let ending = false
  const users = Array.from({ length: USERS }, async () => {
    while (!ending) if (await get()) done++
  })
  await sleep(1000)
  const [before, from] = [cpuMs(child.pid!), done]
  await sleep(SECONDS * 1000)
  const perRequestUs = ((cpuMs(child.pid!) - before) / (done - from)) * 1000
  ending = true
  await Promise.all(users)
  agent.destroy()
  clearInterval(reader)
  child.kill('SIGKILL')
  fs.closeSync(readFd)
  return perRequestUs
}

const median = (values: number[]): number => values.sort((a, b) => a - b)[Math.floor(values.length / 2)]!
const none: number[] = []
const nowhere: number[] = []
const logged: number[] = []
for (let round = 0; round < rounds; round++) {
  none.push(await measure('none', false, `none-${round}`))
  nowhere.push(await measure('console', false, `nowhere-${round}`, 'null'))
  logged.push(await measure('console', true, `logged-${round}`))
}
fs.rmSync(folder, { recursive: true, force: true })
const [a, n, b] = [median(none), median(nowhere), median(logged)]
console.log(
  `CPU per request, us, median of ${rounds}: no logging ${a.toFixed(1)}, console.log into /dev/null ${n.toFixed(1)},`,
)
console.log(
  `  console.log under meltproof with a slow reader ${b.toFixed(1)}: ${(b - a).toFixed(1)} for the line, ${(b - n).toFixed(1)} of it for the reader`,
)
