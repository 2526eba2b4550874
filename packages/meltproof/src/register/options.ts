/** Reads the settings of meltproof/register from `MELTPROOF_*` variables. Pure. */
import type { Address } from '../cluster/held-port.ts'
import type { AccessLogOptions } from '../logging/access-log.ts'
import type { StdoutOptions } from '../logging/stdout/options.ts'
import { OFF, ON } from './on-or-off.ts'
import { checkFieldName, invalidOption, nearest } from '../options.ts'
import type { CulpritOptions } from '../culprit/index.ts'
import type { CallLimits, OutboundLimits } from '../outbound/limits.ts'
import { OriginTable } from '../outbound/origin-table.ts'
import type { ProtectOptions } from '../server/protect-options.ts'
import { checkPeers } from '../server/request/peers.ts'
import { checkShedHeaders, type ShedHeaders } from '../server/response/shed-headers.ts'

/**
 * Common paths of Kubernetes' and gRPC's probes, and of Prometheus. They are exempt on every server of the process, so
 * that a busy process does not look dead, and a server that only serves metrics answers while memory is short.
 */
export const PROBES: readonly string[] = [
  ...['/healthz', '/livez', '/readyz', '/startupz'],
  ...['/health', '/healthcheck', '/live', '/ready', '/startup', '/liveness', '/readiness'],
  ...['/health/live', '/health/ready', '/health/startup', '/health/liveness', '/health/readiness'],
  ...['/healthz/live', '/healthz/ready', '/-/healthy', '/-/ready', '/metrics'],
  ...['/grpc.health.v1.Health/Check', '/grpc.health.v1.Health/List', '/grpc.health.v1.Health/Watch'],
  '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo',
  '/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo',
]

/** A variable and the parser of its text, which throws an error with a message for an invalid value. */
type Variable<T> = readonly [name: string, read: (text: string, name: string) => T]

type Variables<T> = { readonly [Option in keyof T]?: Variable<NonNullable<T[Option]>> }

const PROCESS = {
  on: ['MELTPROOF', onOrOff],
  stdout: ['MELTPROOF_STDOUT', onOrOff],
  outbound: ['MELTPROOF_OUTBOUND', onOrOff],
  admin: ['MELTPROOF_ADMIN', addressOf],
  haproxyAgent: ['MELTPROOF_HAPROXY_AGENT', addressOf],
  accessLog: ['MELTPROOF_ACCESS_LOG', accessLogFormat],
  drain: ['MELTPROOF_DRAIN', onOrOff],
  culprit: ['MELTPROOF_CULPRIT', culpritOf],
  watch: ['MELTPROOF_WATCH', String],
} as const

const PROTECT: Variables<ProtectOptions> = {
  dryRun: ['MELTPROOF_DRY_RUN', onOrOff],
  lanes: ['MELTPROOF_LANES', wholeNumber(1, 128)],
  limit: ['MELTPROOF_LIMIT', wholeNumber(1, 1_000_000)],
  deadlineMs: ['MELTPROOF_DEADLINE', duration(1, 86_400_000, '24h')],
  exempt: ['MELTPROOF_EXEMPT', exemptPaths],
  readiness: ['MELTPROOF_READINESS', pathOf],
  retryAfterS: ['MELTPROOF_RETRY_AFTER', secondsRange],
  shedHeaders: ['MELTPROOF_SHED_HEADERS', headerFields],
  reportLoadTo: ['MELTPROOF_REPORT_LOAD_TO', peersOf],
  trustCallersFrom: ['MELTPROOF_TRUST_CALLERS_FROM', peersOf],
  criticalityHeader: ['MELTPROOF_CRITICALITY_HEADER', (text, name) => checkFieldName(name, text)],
  drainDelayMs: ['MELTPROOF_DRAIN_DELAY', duration(0, 60_000, '60s')],
}

const STDOUT: Variables<StdoutOptions> = {
  bufferBytes: ['MELTPROOF_STDOUT_BUFFER', bytesOf],
  flushMs: ['MELTPROOF_STDOUT_FLUSH', duration(0, 60_000, '60s')],
}

const OUTBOUND: Variables<GivenLimits> = {
  connectMs: ['MELTPROOF_OUTBOUND_CONNECT', duration(1, 86_400_000, '24h')],
  firstByteMs: ['MELTPROOF_OUTBOUND_FIRST_BYTE', duration(1, 86_400_000, '24h')],
  totalMs: ['MELTPROOF_OUTBOUND_TOTAL', duration(1, 86_400_000, '24h')],
  maxInFlight: ['MELTPROOF_OUTBOUND_IN_FLIGHT', wholeNumber(1, 1_000_000)],
  tellTo: ['MELTPROOF_TELL_TO', originsOf],
}

export const VARIABLES: readonly string[] = [PROCESS, PROTECT, STDOUT, OUTBOUND].flatMap(group =>
  Object.values(group).map(([name]) => name),
)

export type GivenLimits = Partial<CallLimits> & Pick<OutboundLimits, 'tellTo'>

/** Undefined stands for a feature that is off. */
export interface RegisterSettings {
  /** If false, meltproof does nothing, except that it reports to `watch`, and answers probes on the port `admin`. */
  readonly on: boolean
  readonly protect: ProtectOptions
  readonly stdout: StdoutOptions | undefined
  /** An absent limit has its default. */
  readonly outbound: GivenLimits | undefined
  readonly admin: Address | undefined
  readonly haproxyAgent: Address | undefined
  readonly accessLog: AccessLogOptions | undefined
  /** True if SIGTERM and SIGINT drain the servers. */
  readonly drain: boolean
  readonly culprit: CulpritOptions | undefined
  readonly watch: string | undefined
  /** One text for each variable that is wrong. For an invalid value the default applies. */
  readonly warnings: readonly string[]
}

/** Matches variables that Kubernetes sets for a Service `meltproof-api`, such as `MELTPROOF_API_PORT_80_TCP_ADDR`. */
const OF_KUBERNETES = /_SERVICE_(?:HOST|PORT(?:_\w+)?)$|_PORT_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?$/
/** Matches the address in Kubernetes' `MELTPROOF_API_PORT`. If the value is a number, an operator has set it. */
const ADDRESS_OF_KUBERNETES = /^(?:tcp|udp|sctp):\/\//

export function settingsFrom(environment: Readonly<NodeJS.ProcessEnv>): RegisterSettings {
  const warnings = unknownVariables(environment)
  const read = <T>([name, reads]: Variable<T>): T | undefined => {
    const text = environment[name]?.trim()
    if (!text) return undefined
    try {
      return reads(text, name)
    } catch (error) {
      warnings.push(`${(error as Error).message} Using the default.`)
      return undefined
    }
  }
  const given = <T extends object>(variables: Variables<T>): Partial<T> => {
    const entries = Object.entries<Variable<unknown>>(variables as never).map(([option, each]) => [option, read(each)])
    return Object.fromEntries(entries.filter(([, value]) => value !== undefined)) as Partial<T>
  }
  return {
    on: read(PROCESS.on) ?? true,
    protect: { exempt: PROBES, ...given(PROTECT) },
    stdout: ifWanted(read(PROCESS.stdout), given(STDOUT)),
    outbound: ifWanted(read(PROCESS.outbound), given(OUTBOUND)),
    admin: read(PROCESS.admin),
    haproxyAgent: read(PROCESS.haproxyAgent),
    accessLog: read(PROCESS.accessLog) || undefined,
    drain: read(PROCESS.drain) ?? false,
    culprit: read(PROCESS.culprit) || undefined,
    watch: read(PROCESS.watch),
    warnings,
  }
}

function unknownVariables(environment: Readonly<NodeJS.ProcessEnv>): string[] {
  return Object.entries(environment)
    .filter(([name, value]) => name.startsWith(PREFIX) && value && !VARIABLES.includes(name))
    .filter(([name, value]) => !isOfKubernetes(name, value!))
    .map(([name]) => {
      const close = meant(name)
      return `${name} is not known.${close === undefined ? '' : ` Did you mean ${close}?`}`
    })
}

function isOfKubernetes(name: string, value: string): boolean {
  return OF_KUBERNETES.test(name) || (name.endsWith('_PORT') && ADDRESS_OF_KUBERNETES.test(value))
}

function meant(name: string): string | undefined {
  // Compares without the common prefix, which would make every name similar.
  const close = nearest(
    name.slice(PREFIX.length),
    VARIABLES.map(each => each.slice(PREFIX.length)),
  )
  if (close !== undefined) return `${PREFIX}${close}`
  // The known variable with which this name begins, such as MELTPROOF_ADMIN for MELTPROOF_ADMIN_PORT.
  return VARIABLES.findLast(each => each.startsWith(PREFIX) && name.startsWith(`${each}_`))
}

const PREFIX = 'MELTPROOF_'

/** Returns the options of a feature that is switched on, explicitly or because one of its options is set. */
function ifWanted<T extends object>(isOn: boolean | undefined, options: T): T | undefined {
  return (isOn ?? Object.keys(options).length > 0) ? options : undefined
}

function onOrOff(text: string, name: string): boolean {
  if (ON.test(text)) return true
  if (OFF.test(text)) return false
  return invalidOption(name, '`on` or `off`', text)
}

function wholeNumber(least: number, most: number): (text: string, name: string) => number {
  return (text, name) => {
    const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
    if (!(value >= least && value <= most)) invalidOption(name, `a whole number from ${least} to ${most}`, text)
    return value
  }
}

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }

/** The returned function parses a time with its unit, in ms. `mostText` is `mostMs` with a unit. */
function duration(leastMs: number, mostMs: number, mostText: string): (text: string, name: string) => number {
  return (text, name) => {
    const [, number, unit = ''] = /^(\d{1,8})(ms|s|m|h)$/.exec(text) ?? []
    const ms = Number(number) * UNIT_MS[unit]!
    if (!(ms >= leastMs && ms <= mostMs)) {
      const range = `from ${leastMs}ms to ${mostText}`
      invalidOption(name, `a time with its unit, such as \`500ms\` or \`2s\`, ${range}`, text)
    }
    return ms
  }
}

function bytesOf(text: string, name: string): number {
  const match = /^(\d{1,7})(KB|MB)$/.exec(text)
  const bytes = Number(match?.[1]) * (match?.[2] === 'MB' ? 1_048_576 : 1024)
  if (!(bytes >= 65_536 && bytes <= 1_073_741_824)) {
    invalidOption(name, 'a size with its unit, such as `512KB` or `8MB`, from 64KB to 1024MB', text)
  }
  return bytes
}

function secondsRange(text: string, name: string): [number, number] {
  const match = /^(\d{1,5})s(?:-(\d{1,5})s)?$/.exec(text)
  const least = Number(match?.[1])
  const most = Number(match?.[2] ?? match?.[1])
  if (match === null || least < 1 || most < least || most > 86_400) {
    invalidOption(name, 'whole seconds with their unit, such as `3s` or `1s-5s`, from 1s to 86400s', text)
  }
  return [least, most]
}

/** Parses fields `name: value`, separated by `|`, which values cannot contain. */
function headerFields(text: string, name: string): ShedHeaders {
  const fields = text.split('|').map(field => {
    const [, key = '', value = ''] = /^\s*([^:\s]+)\s*:\s*(.*?)\s*$/s.exec(field) ?? []
    return [key, value] as const
  })
  return checkShedHeaders(name, Object.fromEntries(fields))
}

/** Parses addresses and networks. No word for all peers is accepted, because it would include strangers. */
function peersOf(text: string, name: string): readonly string[] {
  const peers = text.split(',').map(peer => peer.trim())
  checkPeers(name, peers)
  return peers
}

/** Parses origins. `*` is not accepted, because it would include strangers. */
function originsOf(text: string, name: string): readonly string[] {
  const origins = text.split(',').map(origin => origin.trim())
  const table = new OriginTable<true>()
  for (const origin of origins) {
    // The table accepts `*`, so it gets an empty text instead, which it rejects.
    table.set(name, origin === '*' ? '' : origin, true)
  }
  return origins
}

function pathOf(text: string, name: string): string {
  if (!/^\/[^?#\s,*]*$/.test(text)) invalidOption(name, "a path that begins with '/', without a query", text)
  return text
}

function addressOf(text: string, name: string): Address {
  const [, host, port] = /^\[?([^\s[\]]+?)\]?:(\d{1,5})$/.exec(text) ?? []
  if (host === undefined || !(Number(port) >= 1 && Number(port) <= 65_535)) {
    invalidOption(name, 'an address and a port, such as `127.0.0.1:9401` or `[::]:9401`', text)
  }
  return { host, port: Number(port) }
}

/** False means no access log. */
function accessLogFormat(text: string, name: string): AccessLogOptions | false {
  if (text === 'json' || text === 'combined') return { format: text }
  if (OFF.test(text)) return false
  return invalidOption(name, '`json`, `combined` or `off`', text)
}

/** False means off. A time is the minimum duration of the stalls that are named. */
function culpritOf(text: string, name: string): CulpritOptions | false {
  if (ON.test(text)) return {}
  if (OFF.test(text)) return false
  if (!/^\d/.test(text)) invalidOption(name, '`on`, `off`, or a time such as `250ms`', text)
  return { thresholdMs: duration(50, 60_000, '60s')(text, name) }
}

/** Parses paths that are added to the probes; `none` in the list removes the probes. */
function exemptPaths(text: string, name: string): readonly string[] {
  const items = text
    .split(',')
    .map(item => item.trim())
    .filter(item => item !== '')
  const paths = items.filter(item => item !== 'none')
  if (!paths.every(path => /^\/[^?#\s]*$/.test(path))) {
    invalidOption(name, "paths that begin with '/', separated by commas, or `none`", text)
  }
  return items.includes('none') ? paths : [...PROBES, ...paths]
}
