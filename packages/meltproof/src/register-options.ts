/** Reads the options of meltproof/register from `MELTPROOF_*` variables. Pure: given the variables, returns options. */
import { invalidOption, rejectUnknown } from './options.ts'
import type { ProtectOptions } from './server/protect-options.ts'

/** Every variable meltproof/register knows, with what it does. */
export const VARIABLES = {
  MELTPROOF: '`off` makes meltproof/register do nothing; `on` is the default.',
  MELTPROOF_LANES: 'Listening sockets per server, 1 to 128; 1 for a single one. Default 32.',
  MELTPROOF_RETRY_AFTER: 'Retry-After of a shed answer: `3s`, or a range such as `1s-5s`, the default.',
  MELTPROOF_OUTBOUND: '`off` leaves outbound calls without limits; `on` is the default.',
} as const

/** Undefined when meltproof is switched off. Throws a MeltproofError for an unknown variable or a bad value. */
export function optionsFromEnvironment(environment: Readonly<NodeJS.ProcessEnv>): ProtectOptions | undefined {
  const given: Record<string, string> = {}
  for (const [name, value] of Object.entries(environment)) {
    if (value !== undefined && value !== '' && (name === 'MELTPROOF' || name.startsWith('MELTPROOF_')))
      given[name] = value
  }
  rejectUnknown('meltproof/register', given, Object.keys(VARIABLES))
  const { MELTPROOF: power, MELTPROOF_LANES: lanes, MELTPROOF_RETRY_AFTER: retryAfter } = given
  const on = onOrOff('MELTPROOF', power)
  onOrOff('MELTPROOF_OUTBOUND', given['MELTPROOF_OUTBOUND'])
  const options: ProtectOptions = {
    ...(lanes === undefined ? {} : { lanes: wholeNumber('MELTPROOF_LANES', lanes, 1, 128) }),
    ...(retryAfter === undefined ? {} : { retryAfterS: secondsRange('MELTPROOF_RETRY_AFTER', retryAfter) }),
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

function secondsRange(name: string, text: string): [number, number] {
  const match = /^(\d{1,5})s(?:-(\d{1,5})s)?$/.exec(text)
  const least = Number(match?.[1])
  const most = Number(match?.[2] ?? match?.[1])
  if (match === null || least < 1 || most < least || most > 86_400) {
    invalidOption(name, 'whole seconds with their unit, such as `3s` or `1s-5s`, from 1s to 86400s', text)
  }
  return [least, most]
}
