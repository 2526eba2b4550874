/**
 * Runs a command and samples it until it ends or is told to: from outside (/proc), and from inside through what
 * meltproof/register tells. The command's own output and input are its own.
 */
import { spawn } from 'node:child_process'
import { performance } from 'node:perf_hooks'
import { setImmediate } from 'node:timers/promises'
import { joinNodeOptions } from '../launch/node-options.ts'
import { ask } from '../launch/wait-until-listening.ts'
import { UserError } from '../user-error.ts'
import { usage } from '../processes/process-tree.ts'
import { listenForReadings } from './readings-socket.ts'
import { Readings } from './readings.ts'
import type { Sample } from './samples.ts'

export interface WatchRequest {
  readonly command: readonly string[]
  readonly intervalMs: number
  /** Fetched once an interval. */
  readonly url: URL | undefined
  /** URL of meltproof/register. */
  readonly registerUrl: string
  /** With meltproof's protection, or only watched. */
  readonly protect: boolean
  /** The command's stdout goes to our stderr, because ours is for one document. */
  readonly stdoutToStderr: boolean
  readonly signal: AbortSignal
  /** `heard`: a process of the command has told something from inside. */
  readonly onSample: (sample: Sample, samples: readonly Sample[], heard: boolean) => void
}

export interface WatchEnd {
  readonly samples: readonly Sample[]
  readonly heard: boolean
  /** How the command ended; code null when it was ended by a signal. */
  readonly code: number | null
  readonly endedBy: NodeJS.Signals | null
}

/** How long the command may take over its own end after Ctrl-C before it is killed. */
const GRACE_MS = 5000
/** A probe slower than this has failed. */
const PROBE_TIMEOUT_MS = 10_000
/** A watch of months keeps the newest; at one sample a second a day and a half. */
const MOST_SAMPLES = 131_072

export async function watchCommand(request: WatchRequest): Promise<WatchEnd> {
  const { command, intervalMs, signal, url } = request
  const [program, ...args] = command
  // spawn() throws for it.
  if (!program) throw new UserError('the command is empty; expected a program after --')
  const readings = new Readings()
  const listener = await listenForReadings((told, source) => readings.add(told, source))
  const samples: Sample[] = []
  const child = spawn(program, args, {
    stdio: ['inherit', request.stdoutToStderr ? process.stderr : 'inherit', 'inherit'],
    env: environment(request, listener.path),
  })
  let done = false
  const exited = new Promise<{ code: number | null; endedBy: NodeJS.Signals | null }>((resolve, reject) => {
    child.once('error', error => {
      listener.close()
      reject(
        new UserError(
          `could not start ${program}: ${(error as NodeJS.ErrnoException).code === 'ENOENT' ? 'there is no such program' : error.message}`,
        ),
      )
    })
    child.once('exit', (code, endedBy) => {
      done = true
      resolve({ code, endedBy })
    })
  })
  const end = (): void => {
    // A terminal's Ctrl-C has reached it already; a signal to us alone has not.
    child.kill('SIGTERM')
    setTimeout(() => child.kill('SIGKILL'), GRACE_MS).unref()
  }
  if (signal.aborted) end()
  else signal.addEventListener('abort', end, { once: true })

  const startedMs = performance.now()
  let before = { atMs: 0, cpuMs: 0 }
  const sample = async (): Promise<void> => {
    const { rssBytes, cpuMs } = await usage(child.pid!)
    const atMs = performance.now() - startedMs
    const probeMs = url === undefined || done ? undefined : await probe(url)
    if (rssBytes === 0) return // it has ended
    const lengthMs = Math.max(1, atMs - before.atMs)
    const taken: Sample = {
      atMs,
      rssBytes,
      cpu: Math.max(0, (cpuMs - before.cpuMs) / lengthMs),
      inside: readings.take(lengthMs / 1000),
      ...(probeMs === undefined ? {} : { probeMs }),
    }
    before = { atMs, cpuMs }
    samples.push(taken)
    if (samples.length > MOST_SAMPLES) samples.splice(0, MOST_SAMPLES / 2)
    request.onSample(taken, samples, listener.heard)
  }
  let fault: { readonly error: unknown } | undefined
  let sampling = Promise.resolve()
  let idle = true
  const timer = setInterval(() => {
    if (!idle) return
    idle = false
    sampling = sample()
      .catch((error: unknown) => {
        // When sampling fails, end the command and report the error.
        fault ??= { error }
        end()
      })
      .finally(() => {
        idle = true
      })
  }, intervalMs)
  try {
    const { code, endedBy } = await exited
    clearInterval(timer)
    await sampling
    if (fault !== undefined) throw fault.error
    // What it told before it ended may still be in the socket.
    await setImmediate()
    return { samples, heard: listener.heard, code, endedBy }
  } finally {
    clearInterval(timer)
    signal.removeEventListener('abort', end)
    listener.close()
  }
}

function environment({ registerUrl, protect }: WatchRequest, socketPath: string): NodeJS.ProcessEnv {
  return {
    ...process.env,
    NODE_OPTIONS: joinNodeOptions(process.env['NODE_OPTIONS'], `--import ${registerUrl}`),
    MELTPROOF_WATCH: socketPath,
    MELTPROOF: protect ? 'on' : 'off',
  }
}

/** Milliseconds until the whole answer was there, over a connection of its own; null when none came, or an error did. */
async function probe(url: URL): Promise<number | null> {
  const started = performance.now()
  const status = await ask(url, { method: 'GET', headers: {}, body: undefined }, PROBE_TIMEOUT_MS)
  return typeof status === 'number' && status < 400 ? performance.now() - started : null
}
