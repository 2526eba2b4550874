/** Starts the fuzz run in a child process. */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'

const main = join(import.meta.dirname, '../../fuzz/main.ts')

export async function fuzz(
  sabotage: string | undefined,
  ...args: string[]
): Promise<{ code: number | null; out: string; errors: string }> {
  const env = { ...process.env, NODE_OPTIONS: '' } as Record<string, string>
  if (sabotage !== undefined) env['FUZZ_SABOTAGE'] = sabotage
  // Node 22 strips types only with this flag, and later versions accept it.
  const child = spawn(process.execPath, ['--experimental-strip-types', '--no-warnings', main, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env,
  })
  const ended = new Promise<number | null>(resolve => child.once('exit', resolve))
  const [code, out, errors] = await Promise.all([ended, text(child.stdout), text(child.stderr)])
  return { code, out, errors }
}

export const SMALL: readonly string[] = [
  '--seed',
  '1',
  '--requests',
  '6000',
  '--idle',
  '100',
  '--slow',
  '20',
  '--connections',
  '64',
]
