/**
 * Starts a command and makes sure it ends: each one leads a process group of its own, so that whatever it starts
 * (npm scripts, shells, cluster workers) goes with it, and no way out of this process leaves one behind. Knows nothing
 * of ports, load or arms.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { accessSync, constants, statSync } from 'node:fs'
import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { allProcesses, processTree } from '../processes/process-tree.ts'
import { UserError } from '../user-error.ts'

export interface Launch {
  /** For messages. */
  readonly name: string
  readonly command: readonly string[]
  readonly env: Readonly<Record<string, string | undefined>>
}

export interface App {
  readonly name: string
  readonly pid: number
  /** How the command ended, by itself or by us, such as `exited with code 1`; undefined while it runs. */
  ended(): string | undefined
  readonly exited: Promise<string>
  /** The last lines it wrote to stderr, or to stdout when stderr stayed silent. */
  lastWords(): string
  /** Ends it and everything it started; resolves when none of them is left. */
  stop(): Promise<void>
}

/** How long a process may take over its own shutdown before it is killed. */
const graceMs = 2000

/** Process groups that must not outlive us. */
const live = new Set<number>()

/** The last resort, for exits that run no more asynchronous code: process.exit(), an uncaught exception. */
process.on('exit', () => {
  for (const pid of live) signalGroup(pid, 'SIGKILL')
})

export function launch({ name, command, env }: Launch): Promise<App> {
  const [program, ...args] = command
  const child = spawn(program!, args, {
    detached: true,
    // A pipe that is read is what containers and process managers give a service.
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...env },
  })
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('spawn', () => resolve(adopt(name, child)))
  })
}

/**
 * Kills the group once this process is gone, also by SIGKILL, when nothing of ours runs any more: the system closes our end
 * of the pipe that it reads.
 */
function guard(pgid: number): ChildProcess {
  // No environment: nothing of it is of use here, and processes are told apart by it.
  const guardian = spawn('/bin/sh', ['-c', `read _; kill -KILL -${pgid}`], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
    env: {},
  })
  guardian.on('error', () => {}) // no /bin/sh: as without it
  guardian.unref()
  ;(guardian.stdin as Socket | null)?.unref()
  return guardian
}

function adopt(name: string, child: ChildProcess): App {
  const pid = child.pid!
  live.add(pid)
  const guardian = guard(pid)
  const stdout = tail(child.stdout!)
  const stderr = tail(child.stderr!)
  let how: string | undefined
  const exited = new Promise<string>(resolve => {
    // 'exit', not 'close': a grandchild may keep the pipes open for ever.
    child.once('exit', (code, signal) => {
      how = signal === null ? `exited with code ${code}` : `was ended by ${signal}`
      resolve(how)
    })
  })
  return {
    name,
    pid,
    exited,
    ended: () => how,
    lastWords: () => stderr() || stdout(),
    async stop() {
      const family = (await processTree(pid)).map(row => row.pid)
      signalGroup(pid, 'SIGTERM')
      if (!(await endsWithin(pid, graceMs))) {
        signalGroup(pid, 'SIGKILL')
        await endsWithin(pid, graceMs)
      }
      await killSurvivors(family)
      live.delete(pid)
      guardian.kill('SIGKILL')
      child.stdout?.destroy()
      child.stderr?.destroy()
    },
  }
}

/** Descendants that left the group by starting a session of their own. */
async function killSurvivors(family: readonly number[]): Promise<void> {
  for (const row of await allProcesses()) {
    if (family.includes(row.pid) && row.state !== 'Z') {
      try {
        process.kill(row.pid, 'SIGKILL')
      } catch {} // ended meanwhile
    }
  }
}

/** True when no process of the group is alive. A zombie counts as dead: its parent may never collect it. */
async function endsWithin(pgid: number, ms: number): Promise<boolean> {
  const until = Date.now() + ms
  for (;;) {
    const alive = (await allProcesses()).some(row => row.pgid === pgid && row.state !== 'Z')
    if (!alive) return true
    if (Date.now() >= until) return false
    await sleep(10)
  }
}

function signalGroup(pgid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pgid, signal)
  } catch {} // ESRCH: the group has ended
}

/** Reads a stream to its end, so that its writer never waits, and keeps the last few kilobytes. */
function tail(stream: NodeJS.ReadableStream): () => string {
  const keep = 4096
  let text = ''
  stream.setEncoding('utf8')
  stream.on('data', (chunk: string) => {
    text = (text + chunk).slice(-keep)
  })
  stream.on('error', () => {}) // a pipe that breaks when its process is killed
  return () => lastLines(text, 12)
}

/** Pure. The frames of a stack would push the message out of sight. */
export function lastLines(text: string, count: number): string {
  const lines = text.split('\n').filter(line => !/^\s+at /.test(line) && line.trim() !== '')
  return lines.slice(-count).join('\n').trim()
}

/**
 * @param whose when there are several commands
 * @throws UserError when there is no such program, before anything is started
 */
export function checkProgram([program]: readonly string[], whose?: string): void {
  if (findProgram(program!, process.env['PATH'] ?? '') !== undefined) return
  throw new UserError(`there is no program '${program}' to start${whose === undefined ? '' : ` (${whose})`}`)
}

/** The file that `program` names, looked up as a shell does; undefined when there is none. */
function findProgram(program: string, path: string): string | undefined {
  if (process.platform === 'win32') return program // PATHEXT and shell built-ins: left to the system
  const candidates = program.includes('/') ? [program] : path.split(':').map(folder => `${folder || '.'}/${program}`)
  return candidates.find(file => {
    try {
      accessSync(file, constants.X_OK)
      return statSync(file).isFile()
    } catch {
      return false
    }
  })
}
