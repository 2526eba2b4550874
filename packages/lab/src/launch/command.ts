/** Starts a command in its own process group, so that all its processes end with this one, however this one exits. */
import { type ChildProcess, spawn } from 'node:child_process'
import { accessSync, constants, statSync } from 'node:fs'
import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { allProcesses, livingOf, processTree } from '../processes/process-tree.ts'
import { UserError } from '../user-error.ts'

export interface Launch {
  readonly name: string
  readonly command: readonly string[]
  readonly env: Readonly<Record<string, string | undefined>>
}

export interface App {
  readonly name: string
  readonly pid: number
  /** How the command ended, by itself or because of the lab, such as `exited with code 1`; undefined while it runs. */
  ended(): string | undefined
  readonly exited: Promise<string>
  /** Its last lines on stderr, or on stdout if stderr is empty. */
  lastWords(): string
  /** Ends it and everything it started; resolves when all have ended. */
  stop(): Promise<void>
}

/** Time for a process's own shutdown before it is killed. */
const graceMs = 2000

/** Process groups that must end with this process. */
const live = new Set<number>()

/** Kills the groups also at process.exit() and at an uncaught exception, after which no asynchronous code runs. */
process.on('exit', () => {
  for (const pid of live) signalGroup(pid, 'SIGKILL')
})

export function launch({ name, command, env }: Launch): Promise<App> {
  const [program, ...args] = command
  const child = spawn(program!, args, {
    detached: true,
    // The service writes to pipes that are read, as in a container or under a process manager.
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...env },
  })
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('spawn', () => resolve(adopt(name, child)))
  })
}

/** Kills the group once this process has ended, even by SIGKILL: the system then closes our end of the pipe. */
function guard(pgid: number): ChildProcess {
  // The environment is empty, because the lab's tests find leftover processes by a variable in it.
  const guardian = spawn('/bin/sh', ['-c', `read _; kill -KILL -${pgid}`], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
    env: {},
  })
  guardian.on('error', () => {}) // Without /bin/sh there is no guardian.
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
    // 'exit' and not 'close', because a grandchild may keep the pipes open for ever.
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

/** Kills descendants that left the group by starting their own session. */
async function killSurvivors(family: readonly number[]): Promise<void> {
  for (const pid of await livingOf(family)) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {} // It has already ended.
  }
}

/** True if no process of the group is alive. A zombie counts as dead, because its parent may never collect it. */
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
  } catch {} // ESRCH: the group has ended.
}

/** Reads a stream to its end, so that its writer never waits, and keeps the last kilobytes. */
function tail(stream: NodeJS.ReadableStream): () => string {
  const keep = 4096
  let text = ''
  stream.setEncoding('utf8')
  stream.on('data', (chunk: string) => {
    text = (text + chunk).slice(-keep)
  })
  stream.on('error', () => {}) // The pipe may break when its process is killed.
  return () => lastLines(text, 12)
}

/** Omits stack frames, which would push the message out of sight. Pure. */
export function lastLines(text: string, count: number): string {
  const lines = text.split('\n').filter(line => !/^\s+at /.test(line) && line.trim() !== '')
  return lines.slice(-count).join('\n').trim()
}

/** @param whose names the command if there are several @throws UserError if the program does not exist */
export function checkProgram([program]: readonly string[], whose?: string): void {
  if (findProgram(program!, process.env['PATH'] ?? '') !== undefined) return
  throw new UserError(`there is no program '${program}' to start${whose === undefined ? '' : ` (${whose})`}`)
}

/** Searches PATH for `program`, like a shell; undefined if PATH does not have it. */
function findProgram(program: string, path: string): string | undefined {
  if (process.platform === 'win32') return program // PATHEXT and shell built-ins are left to the system.
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
