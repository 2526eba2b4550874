/** Instances of apps/fleet-service.js, and HAProxy in front of them with deploy/haproxy/haproxy.cfg as it is. */
import { readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import path from 'node:path'
import { deployFile } from '../experiment/deploy-file.ts'
import type { Context, RunningApp } from '../experiment/scenario.ts'
import { temporaryFolder } from '../experiment/temporary-folder.ts'
import { checkProgram } from '../launch/command.ts'
import { freePort } from '../launch/free-port.ts'
import { registerUrl } from '../launch/register-url.ts'
import { UserError } from '../user-error.ts'

export interface Instance {
  readonly app: RunningApp
  readonly ports: Ports
  readonly isGuarded: boolean
}

export interface Ports {
  readonly service: number
  readonly admin: number
  readonly agent: number
}

export interface Proxy {
  readonly app: RunningApp
  readonly origin: string
}

export interface Haproxy extends Proxy {
  /** What `show stat` has of each server; `slim` is its maxconn. */
  servers(field: string): Promise<readonly string[]>
}

/** What the agent's part of the server line is. */
const ASKS = 'agent-check agent-port 9402 agent-inter 500ms maxconn 16'
const CHECKED_MS = 10_000

export const portsOf = async (): Promise<Ports> => ({
  service: await freePort(),
  admin: await freePort(),
  agent: await freePort(),
})

/** @param env more of it */
export async function startInstance(
  context: Context,
  isGuarded: boolean,
  env: Readonly<Record<string, string>>,
  ports?: Ports,
): Promise<Instance> {
  const given = ports ?? (await portsOf())
  const guarded = {
    MELTPROOF_ADMIN: `127.0.0.1:${given.admin}`,
    MELTPROOF_HAPROXY_AGENT: `127.0.0.1:${given.agent}`,
    MELTPROOF_REPORT_LOAD_TO: '127.0.0.1',
  }
  const app = await context.start({
    name: 'the service',
    run: 'fleet-service.js',
    core: 'server',
    env: { NODE_ENV: 'production', PORT: String(given.service), ...(isGuarded ? guarded : {}), ...env },
    ...(isGuarded ? { nodeOptions: `--import ${registerUrl()}` } : {}),
  })
  return { app, ports: given, isGuarded }
}

export function needHaproxy(): void {
  try {
    checkProgram(['haproxy'])
  } catch {
    throw new UserError("there is no HAProxy here: on Debian it is the package 'haproxy' (apt-get install haproxy)")
  }
}

/** `asks`: it asks the agents; else what stands on the server line in the place of that. */
export async function startHaproxy(
  context: Context,
  instances: readonly Pick<Instance, 'ports' | 'isGuarded'>[],
  { line, balance = 'roundrobin' }: { readonly line: 'asks' | string; readonly balance?: string },
): Promise<Haproxy> {
  const folder = temporaryFolder(context, 'haproxy')
  const web = await freePort()
  const servers = instances.map(({ ports, isGuarded }, at) => {
    const agent = line === 'asks' ? ` agent-port ${ports.agent}` : ''
    return `    server app${at + 1} 127.0.0.1:${ports.service} port ${isGuarded ? ports.admin : ports.service}${agent}`
  })
  const file = path.join(folder, 'haproxy.cfg')
  const changes: readonly Change[] = [
    ['/run/haproxy/admin.sock', path.join(folder, 'stats')],
    ['bind :8080', `bind 127.0.0.1:${web}`],
    ['balance roundrobin', `balance ${balance}`],
    [ASKS, line === 'asks' ? ASKS : line],
    ['    server app1 127.0.0.1:3000', servers.join('\n')],
  ]
  writeFileSync(file, changed(readFileSync(deployFile('haproxy/haproxy.cfg'), 'utf8'), changes))
  const origin = `http://127.0.0.1:${web}`
  const app = await context.start({
    name: 'HAProxy',
    run: ['haproxy', '-db', '-f', file],
    core: 'dependency',
    url: new URL(origin),
  })
  const stat = async (field: string): Promise<readonly string[]> => {
    const socket = connect(path.join(folder, 'stats'))
    socket.write('show stat\n')
    let said = ''
    for await (const part of socket) said += part
    const [head, ...rows] = said.split('\n').map(each => each.split(','))
    return rows.filter(([, name]) => /^app\d/.test(name ?? '')).map(row => row[head!.indexOf(field)]!)
  }
  await ready(context, app, async () => (await stat('check_status')).every(status => status === 'L7OK'))
  return { app, origin, servers: stat }
}

export type Change = readonly [from: string, to: string]

/** Not in comments. */
export function changed(text: string, changes: readonly Change[]): string {
  for (const [from] of changes) if (!text.includes(from)) throw new Error(`the configuration has no '${from}' any more`)
  return text
    .split('\n')
    .map(line => (/^ *#/.test(line) ? line : changes.reduce((made, [from, to]) => made.replace(from, () => to), line)))
    .join('\n')
}

/** Until the balancer has found all of its instances. */
export async function ready(context: Context, app: RunningApp, isReady: () => Promise<boolean>): Promise<void> {
  const until = performance.now() + CHECKED_MS
  while (!(await isReady().catch(() => false))) {
    app.check('before it found the service')
    if (performance.now() > until) throw new UserError(`${app.name} did not find the service`)
    await context.sleep(20)
  }
}
