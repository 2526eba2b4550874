/**
 * Installs the packages of an app into `apps/.installed/<name>`, copies its sources next to them, and builds it. A
 * stamp with a hash of the source files marks each completed step, which is repeated only after a change.
 */
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'

const apps = join(import.meta.dirname, '..')

/** The registry cannot be reached. The app is skipped, with a message, and not judged. */
export class NoNetworkError extends Error {
  override readonly name = 'NoNetworkError'
}

export const installedFolder = (name: string): string => join(apps, '.installed', name)
export const sourceFolder = (name: string): string => join(apps, name, 'source')

/** Maximum duration of a command, ms: ten minutes for the largest app on a slow connection. */
const LONGEST_MS = 10 * 60_000

export async function install(name: string, build: readonly (readonly string[])[], say: (text: string) => void) {
  const source = sourceFolder(name)
  const folder = installedFolder(name)
  mkdirSync(folder, { recursive: true })
  const manifest = ['package.json', 'package-lock.json'].filter(file => existsSync(join(source, file)))
  await once(folder, 'packages', hashOf(source, manifest), async () => {
    say(`${name}: installing its packages`)
    for (const file of manifest) cpSync(join(source, file), join(folder, file))
    const command = manifest.length > 1 ? 'ci' : 'install'
    await run('npm', [command, '--no-audit', '--no-fund', '--loglevel=error'], folder)
  })
  const own = globSync('**/*', { cwd: source, exclude: ['package.json', 'package-lock.json'] }).sort()
  cpSync(source, folder, { recursive: true })
  if (build.length === 0) return
  const built = hashOf(
    source,
    own.filter(file => /\.\w+$/.test(file)),
  )
  await once(folder, 'build', built + hashOf(source, manifest), async () => {
    say(`${name}: building it`)
    for (const args of build) await run(process.execPath, args, folder)
  })
}

async function once(folder: string, step: string, made: string, make: () => Promise<void>): Promise<void> {
  const stamp = join(folder, `.${step}.stamp`)
  const from = `${process.version} ${made}`
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === from) return
  await make()
  writeFileSync(stamp, from)
}

function hashOf(folder: string, files: readonly string[]): string {
  const hash = createHash('sha256')
  for (const file of files) hash.update(file).update(readFileSync(join(folder, file)))
  return hash.digest('hex')
}

/** Runs a program to its end, with this Node first on its PATH. Throws with its last output when it fails. */
function run(program: string, args: readonly string[], cwd: string): Promise<void> {
  const node = dirname(process.execPath)
  const child = spawn(program, args, {
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: LONGEST_MS,
    env: {
      ...process.env,
      PATH: `${node}${delimiter}${process.env['PATH']}`,
      // Native packages are built against the headers of this Node, if it has them.
      ...(existsSync(join(node, '../include/node')) ? { npm_config_nodedir: join(node, '..') } : {}),
      NODE_ENV: 'production',
      NEXT_TELEMETRY_DISABLED: '1',
      STRAPI_TELEMETRY_DISABLED: 'true',
    },
  })
  const end = (): void => void child.kill('SIGKILL')
  process.once('exit', end)
  let words = ''
  const keep = (chunk: Buffer): void => {
    words = (words + chunk).slice(-4000)
  }
  child.stdout.on('data', keep)
  child.stderr.on('data', keep)
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', code => {
      process.removeListener('exit', end)
      const how = `${program} ${args.join(' ')} ended with ${code} in ${cwd}:\n${words.trim()}`
      if (code === 0) resolve()
      else reject(noNetwork(words) ? new NoNetworkError(how) : new Error(how))
    })
  })
}

/** Whether the output of npm means that the registry cannot be reached. Pure. */
export function noNetwork(words: string): boolean {
  return /\b(ENOTFOUND|EAI_AGAIN|ENETUNREACH|EHOSTUNREACH|ECONNREFUSED|ETIMEDOUT|ERR_SOCKET_TIMEOUT)\b/.test(words)
}
