/** Reads the options of meltproof/register from `MELTPROOF_*` variables. Pure: given the variables, returns options. */
import { invalidOption, rejectUnknown } from './options.ts'
import type { StdoutOptions } from './logging/stdout/options.ts'
import type { ProtectOptions } from './server/protect-options.ts'

/** Every variable meltproof/register knows, with what it does. */
export const VARIABLES = {
  MELTPROOF: '`off` makes meltproof/register do nothing; `on` is the default.',
  MELTPROOF_LANES: 'Listening sockets per server, 1 to 128; 1 for a single one. Default 32.',
  MELTPROOF_RETRY_AFTER: 'Retry-After of a shed answer: `3s`, or a range such as `1s-5s`, the default.',
  MELTPROOF_DRAIN_DELAY: 'How long a server accepts after drain(): 0ms to 60s. Default up to 5s, while requests come.',
  MELTPROOF_OUTBOUND: '`off` leaves outbound calls without limits; `on` is the default.',
  MELTPROOF_WATCH: 'Unix socket of `meltlab watch`, which sets it; works with MELTPROOF=off too. Default none.',
  MELTPROOF_STDOUT: '`off` leaves stdout and stderr as Node has them; `on` is the default.',
  MELTPROOF_STDOUT_BUFFER: 'Memory for lines that wait, a stream: 64KB to 1024MB. Default 8MB.',
  MELTPROOF_STDOUT_FLUSH: 'How long the end of the process may wait for readers: 0ms to 60s. Default 1s.',
  MELTPROOF_STDOUT_LOSS_FILE: 'File for the final count of lost lines. Default: the other stream.',
} as const

type Environment = Readonly<NodeJS.ProcessEnv>

/** Undefined when stdout and stderr are to stay as they are. Throws a MeltproofError for a bad value. */
export function stdoutFromEnvironment(environment: Environment): StdoutOptions | undefined {
  const lossFile = environment['MELTPROOF_STDOUT_LOSS_FILE']
  const options = {
    ...parsed(environment, 'MELTPROOF_STDOUT_BUFFER', 'bufferBytes', bytesOf),
    ...parsed(environment, 'MELTPROOF_STDOUT_FLUSH', 'flushMs', durationMs),
    ...(lossFile ? { lossFile } : {}),
  }
  return isOn(environment, 'MELTPROOF_STDOUT') ? options : undefined
}

/** Undefined when meltproof is switched off. Throws a MeltproofError for an unknown variable or a bad value. */
export function optionsFromEnvironment(environment: Environment): ProtectOptions | undefined {
  const ours = Object.entries(environment).filter(([name, value]) => value && /^MELTPROOF(_|$)/.test(name))
  rejectUnknown('meltproof/register', Object.fromEntries(ours), Object.keys(VARIABLES))
  isOn(environment, 'MELTPROOF_OUTBOUND')
  const options = {
    ...parsed(environment, 'MELTPROOF_LANES', 'lanes', lanesOf),
    ...parsed(environment, 'MELTPROOF_RETRY_AFTER', 'retryAfterS', secondsRange),
    ...parsed(environment, 'MELTPROOF_DRAIN_DELAY', 'drainDelayMs', durationMs),
  }
  return isOn(environment, 'MELTPROOF') ? options : undefined
}

/** Whether outbound calls are bounded. */
export function outboundFromEnvironment(environment: Environment): boolean {
  return isOn(environment, 'MELTPROOF') && isOn(environment, 'MELTPROOF_OUTBOUND')
}

function isOn(environment: Environment, name: keyof typeof VARIABLES): boolean {
  const value = environment[name] || 'on'
  if (value !== 'on' && value !== 'off') invalidOption(name, '`on` or `off`', value)
  return value === 'on'
}

/** The option of this variable; none when that is not set or empty. */
function parsed<Option extends string, T>(
  environment: Environment,
  name: keyof typeof VARIABLES,
  option: Option,
  parse: (name: string, text: string) => T,
): { [Name in Option]?: T } {
  const text = environment[name]
  return (text ? { [option]: parse(name, text) } : {}) as { [Name in Option]?: T }
}

function lanesOf(name: string, text: string): number {
  const lanes = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
  if (!(lanes >= 1 && lanes <= 128)) invalidOption(name, 'a whole number from 1 to 128', text)
  return lanes
}

function bytesOf(name: string, text: string): number {
  const match = /^(\d{1,7})(KB|MB)$/.exec(text)
  const bytes = Number(match?.[1]) * (match?.[2] === 'MB' ? 1_048_576 : 1024)
  if (!(bytes >= 65_536 && bytes <= 1_073_741_824)) {
    invalidOption(name, 'a size with its unit, such as `512KB` or `8MB`, from 64KB to 1024MB', text)
  }
  return bytes
}

function durationMs(name: string, text: string): number {
  const match = /^(\d{1,5})(ms|s)$/.exec(text)
  const ms = Number(match?.[1]) * (match?.[2] === 's' ? 1000 : 1)
  if (!(ms <= 60_000)) invalidOption(name, 'a time with its unit, such as `500ms` or `2s`, up to 60s', text)
  return ms
}

function secondsRange(name: string, text: string): [number, number] {
  const match = /^(\d{1,5})s(?:-(\d{1,5})s)?$/.exec(text)
  const least = Number(match?.[1])
  const most = Number(match?.[2] ?? match?.[1])
  if (match === null || least < 1 || most < least || most > 86_400) {
    invalidOption(name, 'whole seconds with their unit, such as `3s` or `1s-5s`, from 1s to 86400s', text)
  }
  return [least, most]
}
