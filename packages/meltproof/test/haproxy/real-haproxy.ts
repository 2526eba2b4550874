/** A real HAProxy with deploy/haproxy/haproxy.cfg, changed only in addresses and times. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import net from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathOf } from '../installed.ts'
import { eventually } from '../server/harness.ts'

export const CONFIGURATION: string = join(import.meta.dirname, '../../../../deploy/haproxy/haproxy.cfg')

export interface Addresses {
  readonly service: number
  readonly admin: number
  readonly agent: number
}

export class RealHaproxy {
  /** The socket to which clients connect. */
  readonly path: string
  readonly #folder: string
  readonly #process: ChildProcess

  private constructor(folder: string, started: ChildProcess) {
    this.#folder = folder
    this.#process = started
    this.path = join(folder, 'web')
  }

  static async start({ service, admin, agent }: Addresses): Promise<RealHaproxy> {
    const folder = mkdtempSync(join(tmpdir(), 'meltproof-haproxy-'))
    const changes: readonly (readonly [string, string])[] = [
      ['/run/haproxy/admin.sock', join(folder, 'stats')],
      ['bind :8080', `bind ${join(folder, 'web')}`],
      ['127.0.0.1:3000', `127.0.0.1:${service}`],
      ['port 9401', `port ${admin}`],
      ['agent-port 9402', `agent-port ${agent}`],
      ['agent-inter 200ms', 'agent-inter 50ms'],
      ['inter 2s', 'inter 100ms'],
    ]
    const text = readFileSync(CONFIGURATION, 'utf8')
    for (const [from] of changes) if (!text.includes(from)) throw new Error(`haproxy.cfg has no '${from}' any more`)
    const changed = text
      .split('\n')
      .map(line => (/^ *#/.test(line) ? line : changes.reduce((changed, change) => changed.replace(...change), line)))
    const file = join(folder, 'haproxy.cfg')
    writeFileSync(file, changed.join('\n'))
    const started = spawn(pathOf('haproxy')!, ['-db', '-f', file], { stdio: ['ignore', 'ignore', 'pipe'] })
    let said = ''
    started.stderr!.setEncoding('utf8').on('data', text => {
      said += text
    })
    const haproxy = new RealHaproxy(folder, started)
    const isChecked = async (): Promise<boolean> => {
      if (started.exitCode !== null) throw new Error(said)
      return (await haproxy.server('check_status').catch(() => '')) === 'L7OK'
    }
    try {
      await eventually('HAProxy has checked the service', isChecked)
    } catch (error) {
      await haproxy.stop()
      throw error
    }
    return haproxy
  }

  async stop(): Promise<void> {
    this.#process.kill('SIGKILL')
    if (this.#process.exitCode === null && this.#process.signalCode === null) await once(this.#process, 'exit')
    rmSync(this.#folder, { recursive: true, force: true })
  }

  async command(line: string): Promise<string> {
    const socket = net.connect(join(this.#folder, 'stats'))
    socket.write(`${line}\n`)
    let said = ''
    for await (const part of socket) said += part
    return said
  }

  /** A field of `show stat` for the one server. `slim` is its maxconn. */
  async server(field: string): Promise<string> {
    const [head, ...rows] = (await this.command('show stat')).split('\n').map(line => line.split(','))
    const row = rows.find(([proxy, server]) => proxy === 'app' && server === 'app1')
    return row![head!.indexOf(field)]!
  }
}
