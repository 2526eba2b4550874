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
  MELTPROOF_STDOUT_DROP: 'Which lines to lose when that is full: `newest`, the default, or `oldest`.',
  MELTPROOF_STDOUT_FLUSH: 'How long the end of the process may wait for readers: 0ms to 60s. Default 1s.',
  MELTPROOF_STDOUT_LOSS_FILE: 'File for the final count of lost lines. Default: the other stream.',
} as const

/** Undefined when stdout and stderr are to stay as they are. Throws a MeltproofError for a bad value. */
export function stdoutFromEnvironment(environment: Readonly<NodeJS.ProcessEnv>): StdoutOptions | undefined {
  const value = (name: keyof typeof VARIABLES): string | undefined => environment[name] || undefined
  const power = value('MELTPROOF_STDOUT')
  if (power !== undefined && power !== 'on' && power !== 'off') {
    invalidOption('MELTPROOF_STDOUT', '`on` or `off`', power)
  }
  const buffer = value('MELTPROOF_STDOUT_BUFFER')
  const drop = value('MELTPROOF_STDOUT_DROP')
  if (drop !== undefined && drop !== 'newest' && drop !== 'oldest') {
    invalidOption('MELTPROOF_STDOUT_DROP', '`newest` or `oldest`', drop)
  }
  const flush = value('MELTPROOF_STDOUT_FLUSH')
  const lossFile = value('MELTPROOF_STDOUT_LOSS_FILE')
  const options: StdoutOptions = {
    ...(buffer === undefined ? {} : { bufferBytes: bytesOf('MELTPROOF_STDOUT_BUFFER', buffer) }),
    ...(drop === undefined ? {} : { drop }),
    ...(flush === undefined ? {} : { flushMs: durationMs('MELTPROOF_STDOUT_FLUSH', flush) }),
    ...(lossFile === undefined ? {} : { lossFile }),
  }
  return power === 'off' ? undefined : options
}

/** Undefined when meltproof is switched off. Throws a MeltproofError for an unknown variable or a bad value. */
export function optionsFromEnvironment(environment: Readonly<NodeJS.ProcessEnv>): ProtectOptions | undefined {
  const given: Record<string, string> = {}
  for (const [name, value] of Object.entries(environment)) {
    if (value !== undefined && value !== '' && (name === 'MELTPROOF' || name.startsWith('MELTPROOF_')))
      given[name] = value
  }
  rejectUnknown('meltproof/register', given, Object.keys(VARIABLES))
  const { MELTPROOF: power, MELTPROOF_LANES: lanes, MELTPROOF_RETRY_AFTER: retryAfter } = given
  const drainDelay = given['MELTPROOF_DRAIN_DELAY']
  const on = onOrOff('MELTPROOF', power)
  onOrOff('MELTPROOF_OUTBOUND', given['MELTPROOF_OUTBOUND'])
  const options: ProtectOptions = {
    ...(lanes === undefined ? {} : { lanes: wholeNumber('MELTPROOF_LANES', lanes, 1, 128) }),
    ...(retryAfter === undefined ? {} : { retryAfterS: secondsRange('MELTPROOF_RETRY_AFTER', retryAfter) }),
    ...(drainDelay === undefined ? {} : { drainDelayMs: durationMs('MELTPROOF_DRAIN_DELAY', drainDelay) }),
  }
  return on ? options : undefined
}

/** Whether outbound calls are bounded; of variables that {@link optionsFromEnvironment} found right. */
export function outboundFromEnvironment(environment: Readonly<NodeJS.ProcessEnv>): boolean {
  return environment['MELTPROOF'] !== 'off' && environment['MELTPROOF_OUTBOUND'] !== 'off'
}

function onOrOff(name: string, value: string | undefined): boolean {
  if (value !== undefined && value !== 'on' && value !== 'off') invalidOption(name, '`on` or `off`', value)
  return value !== 'off'
}

function wholeNumber(name: string, text: string, min: number, max: number): number {
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
  if (!(value >= min && value <= max)) invalidOption(name, `a whole number from ${min} to ${max}`, text)
  return value
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
