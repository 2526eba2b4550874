/** Runs one of the apps in this folder with its output on a real pipe, socket, file or terminal, and reads it. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

/** Imported before an app, to take over its stdout. */
export const IMPORTS: readonly string[] = ['meltproof/register', './apps/listens.cjs'].map(
  module => `--import=${import.meta.resolve(module)}`,
)
export const STDOUT_ON = { MELTPROOF_STDOUT: 'on' } as const

const folder = fs.mkdtempSync(join(tmpdir(), 'meltproof-stdout-'))
const running = new Set<ChildProcess>()
after(() => {
  for (const child of running) child.kill('SIGKILL')
  fs.rmSync(folder, { recursive: true, force: true })
})

/** A child still running after this time has hung. */
const LIFETIME_MS = 40_000

let files = 0
export const newFile = (): string => join(folder, `file-${files++}`)

/** A pipe like the shell's `|`. The test holds its reading end. */
export class Pipe {
  readonly writeFd: number
  private readonly readFd: number
  private chunks: Buffer[] = []

  constructor() {
    const path = newFile()
    execFileSync('mkfifo', [path])
    this.readFd = fs.openSync(path, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK)
    this.writeFd = fs.openSync(path, fs.constants.O_WRONLY)
  }

  /** Reads what is in the pipe, up to `bytes`; undefined at its end. */
  read(bytes = 1 << 20): Buffer | undefined {
    const buffer = Buffer.allocUnsafe(bytes)
    try {
      const got = fs.readSync(this.readFd, buffer)
      if (got === 0) return undefined
      this.chunks.push(buffer.subarray(0, got))
      return buffer.subarray(0, got)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return Buffer.alloc(0)
      throw error
    }
  }

  /** Reads up to `bytes` every `everyMs` until `done`, then the rest. */
  async drain(done: Promise<unknown>, { bytes = 1 << 20, everyMs = 2 } = {}): Promise<string> {
    let ended = false
    void done.then(() => {
      ended = true
    })
    while (!ended) {
      this.read(bytes)
      await sleep(everyMs)
    }
    while ((this.read()?.length ?? 0) > 0);
    return this.text
  }

  get text(): string {
    return Buffer.concat(this.chunks).toString()
  }

  closeReader(): void {
    fs.closeSync(this.readFd)
  }
}

export interface Ended {
  readonly code: number | null
  readonly signal: string | null
  readonly stderr: string
  /** The app's report about itself, if it sent one. */
  readonly report: { stalledMs: number; rss: number } | undefined
}

export interface Run {
  readonly child: ChildProcess
  readonly ended: Promise<Ended>
  /** Resolves once the app has logged everything. */
  readonly reported: Promise<unknown>
}

export interface RunOptions {
  readonly env?: Record<string, string>
  /** False runs plain Node. */
  readonly protect?: boolean
  readonly stdout: number | 'pipe' | 'ignore'
  readonly stderr?: number | 'pipe'
  readonly node?: readonly string[]
  /** Runs as this user. Only root may choose another. */
  readonly uid?: number
}

export function run(
  app: string,
  { env = {}, protect = true, stdout, stderr = 'pipe', node = [], uid }: RunOptions,
): Run {
  const file = fileURLToPath(new URL(`apps/${app}`, import.meta.url))
  const { NODE_OPTIONS: _, ...inherited } = process.env
  // Set through NODE_OPTIONS and not on the command line, from which pino removes it for its worker if the app is ESM.
  const options = protect ? { ...STDOUT_ON, NODE_OPTIONS: IMPORTS.join(' ') } : {}
  const args = [...node, file]
  const child = spawn(process.execPath, args, {
    env: { ...inherited, ...options, ...env },
    stdio: ['ignore', stdout, stderr, 'ipc'],
    ...(uid === undefined ? {} : { uid, gid: uid }),
  })
  running.add(child)
  const timer = setTimeout(() => child.kill('SIGKILL'), LIFETIME_MS)
  let text = ''
  child.stderr?.setEncoding('utf8').on('data', chunk => {
    text += chunk
  })
  let report: Ended['report']
  const reported = new Promise(resolve =>
    child.on('message', message => {
      report = message as never
      resolve(message)
    }),
  )
  const ended = new Promise<Ended>(resolve => {
    // Not 'close', which waits for stdout. Tests may leave that unread on purpose.
    child.on('exit', (code, signal) => {
      clearTimeout(timer)
      running.delete(child)
      setImmediate(() => resolve({ code, signal, stderr: text, report }))
    })
  })
  return { child, ended, reported }
}

/** Parses the output of logs.mjs: its lines, in order, and the losses that notices report. */
export function account(...texts: string[]): { lines: number; told: number; torn: string[] } {
  let lines = 0
  let told = 0
  const torn: string[] = []
  for (const text of texts) {
    let last = -1
    for (const line of text.split('\n').slice(0, -1)) {
      const lost = /meltproof: (\d+) lines? (?:of [a-z ]+ )?lost/.exec(line)
      const number = /^line (\d{8}) x+$/.exec(line)
      if (lost !== null) told += Number(lost[1])
      else if (number !== null && Number(number[1]) > last) {
        lines++
        last = Number(number[1])
      } else if (line.startsWith('line') || line.includes('xxx')) torn.push(line.slice(0, 80))
    }
  }
  return { lines, told, torn }
}
