/**
 * One server whose control group holds it to a share of a core, below what it can do: good answers, sheds, CPU time and time it
 * was throttled, bare, under register, the same without a limit, and with all that a fleet asks of it
 * (load reports; agent checks, and `unasked` without them). Needs
 * root and a cpu cgroup of version 1.
 *
 *   node bench/cpu-quota.ts [--seconds 10] [--share 22] [--load 0,50,80,90,95] [--arms bare,protected,unlimited,told,unasked] [--period 100]
 *
 * `--load` is in percent of what the share is good for at 1.03 ms of CPU a request. Prints a row for each run.
 */
import { spawn } from 'node:child_process'
import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import net from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../packages/lab/src/launch/free-port.ts'
import { calibrateSpin } from '../packages/lab/src/launch/machine.ts'
import { scriptOptions } from '../scripts/script-options.ts'

const options = scriptOptions(import.meta.filename, {
  seconds: { type: 'string', default: '10' },
  share: { type: 'string', default: '22' },
  period: { type: 'string', default: '100' },
  load: { type: 'string', default: '0,50,80,90,95' },
  arms: { type: 'string' },
})
const seconds = options.whole('seconds')
const share = options.whole('share') / 100
const periodUs = options.whole('period') * 1000
const arms = options.chosen('arms', ['bare', 'protected', 'unlimited', 'told', 'unasked'])
const loads = options.values.load.split(',').map(Number)
const WORK_MS = 1.03
const folder = '/sys/fs/cgroup/cpu/meltproof-quota'
const root = join(import.meta.dirname, '..')
/** HAProxy's agent-inter. */
const AGENT_MS = 200
const PROMISE_MS = 1000
/** fleet-service.js spins five times as long. */
const MELTLAB_SPIN_PER_MS = String(Math.round((await calibrateSpin(undefined)) / 5))

interface Run {
  readonly arm: Arm
  readonly load: number
  readonly sent: number
  readonly good: number
  readonly shed: number
  readonly late: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** Share of the quota that the process used. */
  readonly usedShare: number
  readonly cpuUsPerRequest: number
  readonly throttledMsPerS: number
  readonly reasons: string
}

function cpuStat(): { readonly throttledNs: number } {
  const text = readFileSync(join(folder, 'cpu.stat'), 'utf8')
  return { throttledNs: Number(/throttled_time (\d+)/.exec(text)?.[1] ?? 0) }
}

/** User and system time of a process and all its threads, ms. */
function cpuMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
  return (Number(fields[11]) + Number(fields[12])) * 10
}

type Arm = (typeof arms)[number]

async function run(arm: Arm, load: number): Promise<Run> {
  const [port, admin, agent] = [await freePort(), await freePort(), await freePort()]
  const told = {
    MELTPROOF_ADMIN: `127.0.0.1:${admin}`,
    MELTPROOF_HAPROXY_AGENT: `127.0.0.1:${agent}`,
    MELTPROOF_REPORT_LOAD_TO: '127.0.0.1',
  }
  const env: Readonly<Record<Arm, Readonly<Record<string, string>>>> = {
    bare: {},
    protected: {},
    unlimited: { MELTPROOF_LIMIT: '10000' },
    told,
    unasked: told,
  }
  const register = join(root, 'packages/meltproof/dist/register.js')
  const server = spawn(
    'sh',
    [
      '-c',
      `echo $$ > ${folder}/cgroup.procs && exec "$@"`,
      ...['sh', process.execPath, ...(arm === 'bare' ? [] : ['--import', register])],
      join(root, 'packages/lab/apps/fleet-service.js'),
    ],
    {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: { ...process.env, PORT: String(port), FORM: 'cpu', MELTLAB_SPIN_PER_MS, ...env[arm] },
    },
  )
  const connections = new http.Agent({ keepAlive: true, maxSockets: 2000 })
  const times: number[] = []
  let shed = 0
  let late = 0
  const ask = (counts: boolean): Promise<void> => {
    const sentAt = performance.now()
    return new Promise(resolve => {
      http
        .get({ port, host: '127.0.0.1', agent: connections, path: '/' }, response => {
          response.resume().on('end', () => {
            const tookMs = performance.now() - sentAt
            if (counts && response.statusCode === 503) shed++
            else if (counts && tookMs > PROMISE_MS) late++
            else if (counts) times.push(tookMs)
            resolve()
          })
        })
        .on('error', () => resolve())
    })
  }
  for (let tries = 0; tries < 200; tries++) {
    await sleep(50)
    const socket = net.connect(port, '127.0.0.1')
    const open = await new Promise(resolve =>
      socket.on('connect', () => resolve(true)).on('error', () => resolve(false)),
    )
    socket.destroy()
    if (open) break
  }
  // V8 compiles, and a limit settles.
  for (let i = 0; i < 300; i++) await ask(false)
  const asks = setInterval(() => {
    if (arm === 'told')
      net
        .connect(agent, '127.0.0.1')
        .on('error', () => {})
        .resume()
  }, AGENT_MS)
  const perMs = (share / WORK_MS) * (load / 100)
  const under = async (ms: number, counts: boolean): Promise<number> => {
    const from = performance.now()
    const sent: Promise<void>[] = []
    while (performance.now() - from < ms) {
      while (sent.length < (performance.now() - from) * perMs) sent.push(ask(counts))
      await sleep(1)
    }
    await Promise.all(sent)
    return sent.length
  }
  await under(3000, false)
  const [cpuFrom, throttledFrom, startedAt] = [cpuMs(server.pid!), cpuStat().throttledNs, performance.now()]
  const sent = await under(seconds * 1000, true)
  const tookMs = performance.now() - startedAt
  const usedMs = cpuMs(server.pid!) - cpuFrom
  clearInterval(asks)
  let reasons = ''
  if (arm === 'told' || arm === 'unasked') {
    const page = await fetch(`http://127.0.0.1:${admin}/explain`).then(answer => answer.text(), String)
    reasons = page.trim()
  }
  connections.destroy()
  server.kill('SIGKILL')
  await new Promise(resolve => server.on('exit', resolve))
  times.sort((a, b) => a - b)
  const at = (q: number): number => Math.round(times[Math.min(times.length - 1, Math.floor(times.length * q))] ?? 0)
  return {
    ...{ arm, load, sent, good: times.length, shed, late },
    p50Ms: at(0.5),
    p99Ms: at(0.99),
    usedShare: Math.round((usedMs / tookMs / share) * 1000) / 1000,
    cpuUsPerRequest: sent === 0 ? 0 : Math.round((usedMs * 1000) / sent),
    throttledMsPerS: Math.round((cpuStat().throttledNs - throttledFrom) / 1e6 / (tookMs / 1000)),
    reasons,
  }
}

mkdirSync(folder, { recursive: true })
writeFileSync(join(folder, 'cpu.cfs_period_us'), String(periodUs))
writeFileSync(join(folder, 'cpu.cfs_quota_us'), String(Math.round(periodUs * share)))
writeFileSync(join(folder, 'cpu.shares'), '10240')
try {
  for (const load of loads) {
    for (const arm of arms) {
      const { reasons, ...row } = await run(arm, load)
      console.log(JSON.stringify(row), reasons)
    }
  }
} finally {
  for (let left = 20; left > 0; left--) {
    try {
      rmdirSync(folder)
      break
    } catch {
      await sleep(100)
    }
  }
}
