/** Starts one of the apps in this folder in a child process, with or without meltproof/register. */
import { type ChildProcess, spawn } from 'node:child_process'
import http from 'node:http'
import https from 'node:https'
import { after } from 'node:test'
import { fileURLToPath } from 'node:url'

/** Resolved like a user's `--import meltproof/register`. */
export const REGISTER: string = import.meta.resolve('meltproof/register')
export const IMPORT: readonly string[] = ['--import', REGISTER]

export interface Ended {
  readonly code: number | null
  readonly signal: string | null
  readonly stdout: string
  readonly stderr: string
}

export interface Child {
  readonly process: ChildProcess
  /** The next port that the app reports, one JSON line each. Rejects if the app ends first. */
  port(): Promise<number>
  readonly ended: Promise<Ended>
}

const running = new Set<ChildProcess>()
after(() => {
  for (const child of running) child.kill('SIGKILL')
})

/** A child still running after this time has hung. */
const LIFETIME_MS = 90_000

export function start(
  app: string,
  { node = IMPORT, env = {} }: { node?: readonly string[]; env?: Record<string, string> } = {},
): Child {
  const file = fileURLToPath(new URL(`apps/${app}`, import.meta.url))
  const { NODE_OPTIONS: _, ...inherited } = process.env
  const child = spawn(process.execPath, [...node, file], {
    env: { ...inherited, ...env },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  running.add(child)
  const timer = setTimeout(() => child.kill('SIGKILL'), LIFETIME_MS)
  let stdout = ''
  let stderr = ''
  let taken = 0
  let look = (): void => undefined
  child.stdout!.setEncoding('utf8').on('data', chunk => {
    stdout += chunk
    look()
  })
  child.stderr!.setEncoding('utf8').on('data', chunk => {
    stderr += chunk
  })
  const ended = new Promise<Ended>(resolve =>
    child.on('close', (code, signal) => {
      clearTimeout(timer)
      running.delete(child)
      resolve({ code, signal, stdout, stderr })
    }),
  )
  const port = (): Promise<number> =>
    new Promise((resolve, reject) => {
      look = () => {
        const line = stdout.split('\n').slice(0, -1)[taken]
        if (line === undefined) return
        taken++
        look = () => undefined
        resolve((JSON.parse(line) as { port: number }).port)
      }
      look()
      void ended.then(({ code }) => reject(new Error(`ended with ${code}: ${stderr}`)))
    })
  return { process: child, port, ended }
}

/** The body of a GET on a new connection. */
export function get(port: number, path = '/', secure = false): Promise<string> {
  return new Promise((resolve, reject) => {
    const read = (response: http.IncomingMessage): void => {
      let body = ''
      response.setEncoding('utf8')
      response.on('data', chunk => {
        body += chunk
      })
      response.on('end', () => resolve(body))
    }
    const options = { port, path, host: '127.0.0.1', agent: false, rejectUnauthorized: false } as const
    ;(secure ? https.get(options, read) : http.get(options, read)).on('error', reject)
  })
}
