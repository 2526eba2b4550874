/** A real HAProxy with deploy/haproxy/haproxy.cfg, on a core of our choice. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pinned } from '../../packages/lab/src/launch/core-pinning.ts'

/** What the agent's part of the server line is. */
export const ASKS = 'agent-check agent-port 9402 agent-inter 200ms maxconn 20'
const CONFIGURATION = join(import.meta.dirname, '../../deploy/haproxy/haproxy.cfg')

export interface HaproxyPorts {
  readonly web: number
  readonly service: number
  readonly admin: number
  readonly agent: number
}

export interface Haproxy {
  readonly version: string
  /** What `show stat` has of the one server; `slim` is its maxconn. */
  server(field: string): Promise<string>
  stop(): Promise<void>
}

/** @param server what stands in the place of {@link ASKS} */
export async function startHaproxy(ports: HaproxyPorts, core: number | undefined, server: string): Promise<Haproxy> {
  const folder = mkdtempSync(join(tmpdir(), 'meltproof-bench-haproxy-'))
  const changes: readonly (readonly [string, string])[] = [
    [ASKS, server],
    ['/run/haproxy/admin.sock', join(folder, 'stats')],
    ['bind :8080', `bind 127.0.0.1:${ports.web}`],
    ['127.0.0.1:3000', `127.0.0.1:${ports.service}`],
    ['port 9401', `port ${ports.admin}`],
    ['agent-port 9402', `agent-port ${ports.agent}`],
  ]
  const lines = readFileSync(CONFIGURATION, 'utf8').split('\n')
  const changed = lines.map(line =>
    line.trimStart().startsWith('#') ? line : changes.reduce((text, change) => text.replace(...change), line),
  )
  const file = join(folder, 'haproxy.cfg')
  writeFileSync(file, changed.join('\n'))
  const [program, ...args] = pinned(['haproxy', '-db', '-f', file], core)
  const child: ChildProcess = spawn(program!, args, { stdio: ['ignore', 'ignore', 'inherit'] })
  const stat = async (field: string): Promise<string> => {
    const socket = connect(join(folder, 'stats'))
    socket.write('show stat\n')
    let said = ''
    for await (const part of socket) said += part
    const [head, ...rows] = said.split('\n').map(line => line.split(','))
    return rows.find(([proxy, name]) => proxy === 'app' && name === 'app1')![head!.indexOf(field)]!
  }
  for (let tries = 0; (await stat('check_status').catch(() => '')) !== 'L7OK'; tries++) {
    if (tries > 500 || child.exitCode !== null) throw new Error('HAProxy did not find the service')
    await sleep(10)
  }
  return {
    version: /version (\S+)/.exec(spawnSync('haproxy', ['-v'], { encoding: 'utf8' }).stdout)?.[1] ?? 'unknown',
    server: stat,
    stop: async () => {
      child.kill('SIGKILL')
      await once(child, 'exit')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
