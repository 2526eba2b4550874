/** A conversation for which the app's own client is needed. ORIGIN in the environment of the program is the address. */
import { spawn } from 'node:child_process'
import type { Conversation } from './outcome.ts'

export const program: Conversation<'program'> = ({ run }, { asker, origin, folder, signal }) =>
  printed(run.map(asker.fill), { ORIGIN: origin }, folder, signal)

const LONGEST_MS = 90_000

/** The output of a program of node. Throws with its last output when it ends with a code other than 0. */
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
