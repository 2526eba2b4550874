/** Values of options as a user types them. Pure. */
import { UserError } from './user-error.ts'

export function numberOf(text: string, name: string, least: number, most: number, whole: boolean): number {
  const value = text.trim() === '' ? Number.NaN : Number(text)
  if (value >= least && value <= most && (!whole || Number.isInteger(value))) return value
  throw new UserError(`${name} must be a ${whole ? 'whole ' : ''}number from ${least} to ${most}, got "${text}".`)
}

/** Of `Name: value` lines. */
export function headersOf(lines: readonly string[]): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const line of lines) {
    const colon = line.indexOf(':')
    if (colon < 1) throw new UserError(`--header must be "Name: value", got "${line}".`)
    headers[line.slice(0, colon).trim()] = line.slice(colon + 1).trim()
  }
  return headers
}

/** For options that may be given several times. */
export const collect = (value: string, before: readonly string[] = []): readonly string[] => [...before, value]
