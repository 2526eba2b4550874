/** Starts an app in one of its arms and waits until it is ready. Each start has a new, empty data folder. */
import { mkdtempSync, rmSync } from 'node:fs'
import http from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import type { AppDefinition, Arm } from './definition.ts'
import { installedFolder } from './install.ts'
import { type App, accepts, freePort, joinNodeOptions, launch, type Cores, pinned, registerUrl } from './lab.ts'

export interface Running {
  readonly name: string
  readonly arm: Arm
  readonly port: number
  readonly origin: string
  readonly app: App
  /** Replaces the placeholders in a string of the definition. */
  readonly fill: (text: string) => string
  stop(): Promise<void>
}

export interface StartOptions {
  /** Undefined when speed does not matter, so that nothing is pinned. */
  readonly pinning?: Cores | undefined
  readonly signal: AbortSignal
  /** Address to which OpenTelemetry sends its spans, in the arms with companions. */
  readonly collector?: string
}

/** Clients have half a second to learn that their connections will close. A balancer would need the default of 5 s. */
const DRAINS = { MELTPROOF_DRAIN: 'on', MELTPROOF_DRAIN_DELAY: '500ms' }

const LONGEST_START_MS = 90_000
const LOOK_EVERY_MS = 100

const folders = new Set<string>()
process.on('exit', () => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

export async function start(
  name: string,
  definition: AppDefinition,
  arm: Arm,
  options: StartOptions,
): Promise<Running> {
  const { pinning, signal } = options
  const folder = installedFolder(name)
  const data = mkdtempSync(join(tmpdir(), `meltproof-apps-${name}-`))
  folders.add(data)
  const port = await freePort()
  const upstreamPort = definition.upstream === undefined ? undefined : await freePort()
  const fill = (text: string): string =>
    text.replaceAll('{port}', `${port}`).replaceAll('{data}', data).replaceAll('{upstream}', `${upstreamPort}`)
  const started: App[] = []
  const stop = async (): Promise<void> => {
    for (const app of started) await app.stop()
    rmSync(data, { recursive: true, force: true })
    folders.delete(data)
  }
  const begin = async (args: readonly string[], as: Arm, core: number | undefined, at: number): Promise<App> => {
    const node = [process.execPath, ...args.map(fill)]
    // `exec` keeps the pid, so that a signal reaches the app itself.
    const inFolder = ['sh', '-c', 'cd "$0" && exec "$@"', folder, ...node]
    const app = await launch({ name: `${name} (${as})`, command: pinned(inFolder, core), env: environment(as, at) })
    started.push(app)
    return app
  }
  const environment = (as: Arm, at: number): Record<string, string | undefined> => ({
    ...strangersEnvironment(),
    NODE_ENV: 'production',
    HOST: '127.0.0.1',
    PORT: `${at}`,
    DATA: data,
    UPSTREAM: `http://127.0.0.1:${upstreamPort}`,
    ...Object.fromEntries(Object.entries(definition.env ?? {}).map(([key, value]) => [key, fill(value)])),
    ...(as.endsWith('+drain') ? DRAINS : {}),
    ...(as.endsWith('+companions') ? companionsEnvironment(options.collector) : {}),
    NODE_OPTIONS: joinNodeOptions(
      process.env['NODE_OPTIONS'],
      as.endsWith('+companions') ? companionsOptions() : undefined,
      as.startsWith('register') ? `--import ${registerUrl()}` : undefined,
    ),
  })
  try {
    if (definition.upstream !== undefined) {
      const upstream = await begin(definition.upstream, 'bare', pinning?.lab, upstreamPort!)
      await untilReady(upstream, upstreamPort!, undefined, signal)
    }
    const app = await begin(definition.run, arm, pinning?.server, port)
    await untilReady(app, port, definition.ready, signal)
    return { name, arm, port, origin: `http://127.0.0.1:${port}`, app, fill, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** Our environment without options of meltproof, because the checks examine its defaults. */
function strangersEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('MELTPROOF')))
}

function companionsOptions(): string {
  return `--import ${pathToFileURL(join(installedFolder('companions'), 'preload.mjs')).href}`
}

function companionsEnvironment(collector: string | undefined): Record<string, string> {
  return {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector ?? '',
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    // Delay until spans are sent, ms. It is short, because an app loses its unsent spans when it is ended.
    OTEL_BSP_SCHEDULE_DELAY: '100',
    OTEL_METRICS_EXPORTER: 'none',
    OTEL_LOGS_EXPORTER: 'none',
    OTEL_SERVICE_NAME: 'stranger',
    OTEL_LOG_LEVEL: 'error',
  }
}

async function untilReady(app: App, port: number, path: string | undefined, signal: AbortSignal): Promise<void> {
  const until = Date.now() + LONGEST_START_MS
  for (;;) {
    signal.throwIfAborted()
    if (app.ended() !== undefined)
      throw new Error(`${app.name} ${app.ended()} before it was ready:\n${app.lastWords()}`)
    const ready =
      path === undefined ? await accepts('127.0.0.1', port, 1000) : ((await statusOf(port, path)) ?? 500) < 500
    if (ready) return
    if (Date.now() > until) throw new Error(`${app.name} was not ready after 90 s:\n${app.lastWords()}`)
    await sleep(LOOK_EVERY_MS)
  }
}

function statusOf(port: number, path: string): Promise<number | undefined> {
  return new Promise(resolve => {
    const request = http.get({ host: '127.0.0.1', port, path, agent: false, timeout: 5000 }, response => {
      response.resume()
      response.once('close', () => resolve(response.statusCode))
    })
    request.once('timeout', () => request.destroy())
    request.once('error', () => resolve(undefined))
  })
}
