/** The options of `meltlab audit`, checked. Pure. */
import { typedCommand } from '../command-line.ts'
import { parseDuration } from '../durations.ts'
import type { Ask } from '../launch/wait-until-listening.ts'
import { checkPath, type Given, headersOf, knownMethod, numberOf, parseUrl, type TlsFlags } from '../option-values.ts'
import { UserError } from '../user-error.ts'

export interface RawAuditOptions
  extends TlsFlags,
    Given<'method' | 'users' | 'duration' | 'startTimeout', string>,
    Given<'path' | 'header', readonly string[]>,
    Partial<Given<'body' | 'url', string>> {
  readonly json?: true
}

export interface AuditOptions extends Ask {
  readonly command: readonly string[]
  readonly paths: readonly string[]
  readonly users: number
  readonly durationMs: number
  readonly startTimeoutMs: number
  readonly url: URL | undefined
}

/** The phase `alone` gets two of these five seconds. A shorter phase would seldom show the minimum of three stalls. */
const SHORTEST_MS = 5000

export function checkAuditOptions(raw: RawAuditOptions, typed: readonly string[]): AuditOptions {
  const command = typedCommand(typed, 'audit')
  const durationMs = parseDuration(raw.duration, '--duration')
  if (durationMs < SHORTEST_MS) {
    throw new UserError(`--duration must be at least 5s, to detect what happens only sometimes, got ${raw.duration}`)
  }
  return {
    command,
    paths: raw.path.length === 0 ? ['/'] : raw.path.map(checkPath),
    method: knownMethod(raw.method, '--method'),
    headers: headersOf(raw.header),
    body: raw.body,
    users: numberOf(raw.users, '--users', 1, 1000, true),
    durationMs,
    startTimeoutMs: parseDuration(raw.startTimeout, '--start-timeout'),
    url: raw.url === undefined ? undefined : parseUrl(raw.url),
  }
}
