/** Durations as people write them: a number and its unit. Pure. */
import { UserError } from './user-error.ts'

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }

/** Parses `500ms`, `10s`, `1.5s`, `2m` or `1h` to milliseconds. `name` is the option, for the error. */
export const parseDuration = (text: string, name: string): number => {
  const match = /^(\d+(?:\.\d+)?|\.\d+)\s*(ms|s|m|h)$/i.exec(text.trim())
  if (match === null) {
    const bare = /^[+-]?(\d+\.?\d*|\.\d+)$/.test(text.trim())
    throw new UserError(
      bare
        ? `${name} needs a unit: ${text.trim()} of what? Write ${text.trim()}s or ${text.trim()}ms.`
        : `${name} must be a duration such as 500ms, 10s or 2m, got "${text}".`,
    )
  }
  const ms = Number(match[1]) * UNIT_MS[match[2]!.toLowerCase()]!
  if (!(ms > 0)) throw new UserError(`${name} must be longer than zero, got "${text}".`)
  if (ms > LONGEST_MS) throw new UserError(`${name} must be at most 576h, got "${text}".`)
  return ms
}

/** A timer longer than 2^31 ms fires at once. */
const LONGEST_MS = 24 * 86_400_000

/** The shortest exact way to write a duration with its unit: 1500 -> `1.5s`, 10 -> `10ms`, 120000 -> `2m`. */
export const formatDuration = (ms: number): string => {
  if (ms >= 60_000 && ms % 60_000 === 0) return `${ms / 60_000}m`
  if (ms >= 1000) return `${Number((ms / 1000).toFixed(3))}s`
  return `${Number(ms.toFixed(3))}ms`
}
