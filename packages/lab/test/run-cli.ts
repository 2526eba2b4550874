/** Runs the real command in its own process, and returns its output and the processes it left behind. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { allProcesses } from '../src/processes/process-tree.ts'

export const cli: string = fileURLToPath(new URL('../src/cli.ts', import.meta.url))
const runEachFile = fileURLToPath(new URL('./run-each.ts', import.meta.url))
const execute = promisify(execFile)

export interface CliEnd {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export type Kill = (signal: NodeJS.Signals) => void

export interface CliOptions {
  /** Called with all of stderr so far on each new output. It may signal the process. */
  readonly onStderr?: ((text: string, kill: Kill) => void) | undefined
  readonly onStart?: (kill: Kill, stdin: NodeJS.WritableStream) => unknown
  /** Set in the environment of the command and of every process it starts, so that {@link carrying} finds strays. */
  readonly mark?: string
}

const MARK = 'MELTLAB_TEST_RUN'

export async function runCli(args: readonly string[], { onStderr, onStart, mark }: CliOptions = {}): Promise<CliEnd> {
  const child = spawn(process.execPath, [cli, ...args], { env: { ...process.env, [MARK]: mark } })
  const kill: Kill = signal => child.kill(signal)
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', text => {
    stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', text => {
    stderr += text
    onStderr?.(stderr, kill)
  })
  child.stdin.on('error', () => undefined) // the command may end before it has read everything
  const closed = once(child, 'close') as Promise<[number | null]>
  if (onStart === undefined) child.stdin.end()
  else await onStart(kill, child.stdin)
  const [code] = await closed
  return { code, stdout, stderr }
}

/**
 * Runs commands that end before they start anything, such as `--help` and invalid options. All run in one process,
 * because loading `meltlab` takes longer than the commands; separate processes would give the same results.
 */
export async function runEach(lists: readonly (readonly string[])[]): Promise<readonly CliEnd[]> {
  const { stdout } = await execute(process.execPath, [runEachFile, JSON.stringify(lists)])
  return JSON.parse(stdout) as CliEnd[]
}

/** Command lines of the running processes that carry the mark. */
export async function carrying(mark: string): Promise<string[]> {
  if (process.platform !== 'linux') return []
  return (await allProcesses()).flatMap(({ pid, state }) => {
    try {
      const marked =
        state !== 'Z' && readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').includes(`${MARK}=${mark}`)
      return marked ? [`${pid} ${readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')}`] : []
    } catch {
      return [] // ended before it was read
    }
  })
}
