/** Measures the capacity of an app with other tools, in a closed loop: users who each wait for their answer. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Ask } from '../../apps/runner/definition.ts'

const AUTOCANNON = join(import.meta.dirname, '../../node_modules/autocannon/autocannon.js')

export interface ClosedLoop {
  readonly url: string
  readonly ask: Ask
  readonly seconds: number
  readonly users: number
}

/** Runs a command and returns what it prints. */
type Outside = (command: readonly string[]) => Buffer

export const headersOf = ({ headers = {} }: Ask): string[] =>
  Object.entries(headers).map(([name, value]) => `${name}: ${value}`)

/** Good answers per second. */
export function withAutocannon({ url, ask, seconds, users }: ClosedLoop, outside: Outside): number {
  const args = [
    '--json',
    '--connections',
    String(users),
    '--duration',
    String(seconds),
    '--method',
    ask.method ?? 'GET',
  ]
  for (const header of headersOf(ask)) args.push('--headers', header)
  if (ask.body !== undefined) args.push('--body', ask.body)
  const said = JSON.parse(outside([process.execPath, AUTOCANNON, ...args, url]).toString()) as {
    '2xx': number
    '3xx'?: number
    duration: number
  }
  return (said['2xx'] + (said['3xx'] ?? 0)) / said.duration
}

/** Good answers per second. wrk takes a method and a body only from a script. */
export function withWrk({ url, ask, seconds, users }: ClosedLoop, outside: Outside): number {
  const folder = mkdtempSync(join(tmpdir(), 'meltproof-wrk-'))
  try {
    const script = join(folder, 'request.lua')
    writeFileSync(script, wrkScript(ask))
    const headers = headersOf(ask).flatMap(header => ['-H', header])
    const args = ['-t1', `-c${users}`, `-d${seconds}s`, '--timeout', '10s', '-s', script, ...headers, url]
    return wrkRate(outside(['wrk', ...args]).toString())
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

export function wrkScript({ method = 'GET', body }: Ask): string {
  return `wrk.method = ${luaText(method)}\n${body === undefined ? '' : `wrk.body = ${luaText(body)}\n`}`
}

/** Writes every byte as a number, because the string escapes of Lua differ from those of JSON. */
const luaText = (text: string): string =>
  `"${[...Buffer.from(text)].map(byte => `\\${String(byte).padStart(3, '0')}`).join('')}"`

/** Parses the output of wrk: `2000 requests in 6.00s, 1.2MB read`, and the number of answers other than 2xx and 3xx. */
export function wrkRate(stdout: string): number {
  const [, requests, time, unit] = /(\d+) requests in ([\d.]+)(ms|s|m)\b/.exec(stdout) ?? []
  if (requests === undefined) throw new Error(`wrk said something else:\n${stdout}`)
  const bad = Number(/Non-2xx or 3xx responses: (\d+)/.exec(stdout)?.[1] ?? 0)
  const seconds = Number(time) * { ms: 0.001, s: 1, m: 60 }[unit as 'ms' | 's' | 'm']
  return (Number(requests) - bad) / seconds
}
