/** A conversation only the app's own client can have. Its program is told the address as ORIGIN. */
import { spawn } from 'node:child_process'
import type { Conversation } from './outcome.ts'

export const program: Conversation<'program'> = ({ run }, { asker, origin, folder, signal }) =>
  printed(run.map(asker.fill), { ORIGIN: origin }, folder, signal)

const LONGEST_MS = 90_000

/** What a program of node printed. Throws with its last words when it ends with another code than 0. */
export function printed(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  folder: string,
  signal: AbortSignal,
): Promise<string> {
  const child = spawn(process.execPath, args, {
    cwd: folder,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: LONGEST_MS,
    signal,
  })
  const end = (): void => void child.kill('SIGKILL')
  process.once('exit', end)
  let out = ''
  let errors = ''
  child.stdout.on('data', (chunk: Buffer) => {
    out += chunk
  })
  child.stderr.on('data', (chunk: Buffer) => {
    errors = (errors + chunk).slice(-2000)
  })
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', code => {
      process.removeListener('exit', end)
      if (code === 0) resolve(out)
      else reject(new Error(`${args.join(' ')} ended with ${code}: ${errors.trim() || out.trim()}`))
    })
  })
}
