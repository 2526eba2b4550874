/** Runs HAProxy with deploy/haproxy/haproxy.cfg; only addresses and the settings under test change. */
import { readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import path from 'node:path'
import { deployFile } from '../experiment/deploy-file.ts'
import type { Context } from '../experiment/scenario.ts'
import { temporaryFolder } from '../experiment/temporary-folder.ts'
import { checkProgram } from '../launch/command.ts'
import { freePort } from '../launch/free-port.ts'
import { UserError } from '../user-error.ts'
import { type Balancer, type Change, changed, type Instance, complete } from './fleet-instance.ts'

export interface Haproxy extends Balancer {
  /** A field of `show stat` for each server; `slim` is its maxconn. */
  servers(field: string): Promise<readonly string[]>
}

/** The agent check on the server line. */
const ASKS = 'agent-check agent-port 9402 agent-inter 200ms maxconn 20'

export function needHaproxy(): void {
  try {
    checkProgram(['haproxy'])
  } catch {
    throw new UserError("there is no HAProxy here: on Debian it is the package 'haproxy' (apt-get install haproxy)")
  }
}

/** `line`: `asks` keeps the agent check; any other text replaces it. */
export async function startHaproxy(
  context: Context,
  instances: readonly Pick<Instance, 'ports' | 'isGuarded'>[],
  { line, balance = 'leastconn' }: { readonly line: 'asks' | string; readonly balance?: string },
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
    ['balance leastconn', `balance ${balance}`],
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
  const haproxy = {
    ...{ app, origin, servers: stat },
    sent: async () => (await stat('stot')).map(Number),
    isComplete: async () => {
      const [checks, weights] = [await stat('check_status'), await stat('weight')]
      return checks.every(status => status === 'L7OK') && weights.every(weight => weight !== '0')
    },
  }
  await complete(context, haproxy)
  return haproxy
}
