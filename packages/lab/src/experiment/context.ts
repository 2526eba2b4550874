/** The environment of a scenario: it starts apps on their cores, sends load, and cleans up at the end. */
import { setTimeout as sleep } from 'node:timers/promises'
import { performance } from 'node:perf_hooks'
import { runLoad } from '../load/run.ts'
import { type App, launch } from '../launch/command.ts'
import { freePort } from '../launch/free-port.ts'
import { pinned } from '../launch/core-pinning.ts'
import { liveLine, type Progress } from '../progress.ts'
import { quote, waitUntilListening } from '../launch/wait-until-listening.ts'
import { joinNodeOptions } from '../launch/node-options.ts'
import { whyUnanswered } from '../report/attack-words.ts'
import { formatRate } from '../report/format.ts'
import { UserError } from '../user-error.ts'
import { every } from '../processes/every.ts'
import { nodeVersionOf } from '../processes/node-version.ts'
import { watch } from '../processes/watch-usage.ts'
import { appFile } from './app-file.ts'
import { planOf } from '../load/load-request.ts'
import type { Context, RunningApp, Sampling } from './scenario.ts'

export interface ContextParts
  extends Pick<Context, 'form' | 'signal' | 'cores'>,
    Partial<Pick<Context, 'checkpoint' | 'disturbance'>> {
  readonly progress: Progress
}

export interface ManagedContext {
  readonly context: Context
  readonly doubts: readonly string[]
  /** The Node version of each started command, by its name. */
  readonly nodes: ReadonlyMap<string, string>
  /** The cores of the server, of the lab, and of everything that was started; empty if nothing is pinned. */
  readonly usedCores: ReadonlySet<number>
  /** Ends every app and runs all other cleanup. */
  end(): Promise<void>
}

const defaultStartTimeoutMs = 60_000
/** An app with a backlog on a busy machine answers slowly. */
const ASK_TIMEOUT_MS = 30_000

export function makeContext(parts: ContextParts): ManagedContext {
  const { form, signal, progress, cores, checkpoint = () => {}, disturbance = () => undefined } = parts
  const undo: (() => Promise<void> | void)[] = []
  const doubts: string[] = []
  const noted = new Set<string>()
  const nodes = new Map<string, string>()
  const usedCores = new Set(cores === undefined ? [] : [cores.server, cores.lab])
  const doubt = (sentence: string): void => {
    if (!doubts.includes(sentence)) doubts.push(sentence)
  }

  const context: Context = {
    form,
    cores,
    signal,
    pick: values => (form === 'full' ? values.full : form === 'brief' ? (values.brief ?? values.quick) : values.quick),
    status: text => progress.status(text),
    line: (text, tone) => progress.line(text, tone),
    doubt,
    disturbance,
    checkpoint,
    cleanUp: action => void undo.push(action),
    sleep: async ms => void (await sleep(ms, undefined, { signal })),
    sample: startSampling,

    async start(spec) {
      signal.throwIfAborted()
      progress.status(`starting ${spec.name}`)
      const port = spec.env?.PORT ?? String(await freePort())
      const command = typeof spec.run === 'string' ? [process.execPath, appFile(spec.run)] : spec.run
      if (cores !== undefined) usedCores.add(cores[spec.core])
      const env: Readonly<Record<string, string | undefined>> = { ...process.env, PORT: port, ...spec.env }
      const app = await launch({
        name: spec.name,
        command: pinned(command, cores?.[spec.core]),
        env: { ...env, NODE_OPTIONS: joinNodeOptions(env['NODE_OPTIONS'], spec.nodeOptions) },
      })
      let stopped: Promise<void> | undefined
      const stop = (): Promise<void> => (stopped ??= app.stop())
      undo.push(stop)
      const { origin, note } = await waitUntilListening(app, {
        url: spec.url,
        tls: spec.tls,
        request: spec.request,
        preferredPort: Number(port),
        onlyThere: spec.atPort ?? typeof spec.run === 'string',
        startTimeoutMs: spec.startTimeoutMs ?? defaultStartTimeoutMs,
        signal,
      })
      // Every start would repeat the same note with other ports.
      if (note !== undefined && !noted.has(spec.name)) progress.line(`note: ${note}`)
      // Read only once: every start under one name has the same command.
      const node = noted.has(spec.name) || typeof spec.run === 'string' ? undefined : await nodeVersionOf(app.pid)
      if (node !== undefined) nodes.set(spec.name, node)
      noted.add(spec.name)
      return { ...runningApp(app, origin, () => stopped !== undefined, stop), node: nodes.get(spec.name) }
    },

    async load(label, request, onProgress) {
      signal.throwIfAborted()
      const plan = planOf(request)
      const offered = request.users === undefined ? `${formatRate(request.rate)}/s offered` : `${request.users} users`
      const live = liveLine(label, offered)
      const outcome = await runLoad(plan, {
        signal,
        onProgress: seen => {
          progress.status(live(seen))
          onProgress?.(seen)
        },
      })
      signal.throwIfAborted()
      const unanswered = whyUnanswered(outcome)
      if (unanswered !== undefined) progress.line(`${label}: ${unanswered}`)
      if (request.warmUp !== true) for (const reason of outcome.why) doubt(`${label}: ${reason}`)
      return outcome
    },
  }

  return {
    context,
    doubts,
    nodes,
    usedCores,
    async end() {
      for (const action of undo.reverse()) {
        try {
          await action()
        } catch (error) {
          progress.line(`warning: cleanup failed: ${(error as Error).message}`)
        }
      }
    },
  }
}

function runningApp(app: App, origin: string, stopping: () => boolean, stop: () => Promise<void>): RunningApp {
  return {
    ...app,
    origin,
    watch: () => watch(app.pid),
    stop,
    async ask<T>(path: string, timeoutMs = ASK_TIMEOUT_MS): Promise<T> {
      // The app could close a kept connection at the moment of the next request.
      const request = { headers: { connection: 'close' }, signal: AbortSignal.timeout(timeoutMs) }
      const answer = await fetch(new URL(path, origin), request)
        .then(async response => ({ ok: response.ok, status: response.status, text: await response.text() }))
        .catch((error: Error) => {
          this.check()
          const { name, message, cause } = error
          if (name === 'TimeoutError') {
            const waited = `${timeoutMs / 1000}s; it is slow, or the machine is busy`
            throw new UserError(`${app.name} did not answer ${path} within ${waited}${quote(app.lastWords())}`)
          }
          const reason = cause instanceof Error ? cause.message : message
          throw new Error(`${app.name} did not answer ${path}: ${reason}`, { cause })
        })
      // A protected app may shed this request, with JSON.
      if (!answer.ok) throw new Error(`${app.name} answered ${answer.status} to ${path}`)
      return JSON.parse(answer.text) as T
    },
    check(when = 'during the run') {
      if (app.ended() === undefined || stopping()) return
      throw new UserError(`${app.name} ${app.ended()} ${when}${quote(app.lastWords())}`)
    },
  }
}

function startSampling<T>(everyMs: number, read: () => Promise<T> | T): Sampling<T> {
  const startedMs = performance.now()
  const samples: { atMs: number; value: T }[] = []
  let failure: unknown
  const take = async (): Promise<void> => {
    const atMs = performance.now() - startedMs
    try {
      samples.push({ atMs, value: await read() })
    } catch (error) {
      failure ??= error
    }
  }
  const sampling = every(everyMs, take)
  return {
    async stop() {
      await sampling.stop()
      if (samples.length === 0 && failure !== undefined) throw failure
      return samples
    },
  }
}
