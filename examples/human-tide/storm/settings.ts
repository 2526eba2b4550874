/** The settings that the page may change. Pure functions. */

export interface SideSettings {
  readonly protect: boolean
  /** Whether the service logs a line per request. */
  readonly log: boolean
}

export interface Settings {
  readonly phones: number
  readonly left: SideSettings
  readonly right: SideSettings
}

/**
 * Maximum number of phones: what both services carry on one core without the log line. With more, they would compete
 * for the core, and the page would no longer show the effect of the log line.
 */
export const MOST_PHONES = 5000

export const CALM: Settings = {
  phones: 100,
  left: { protect: false, log: false },
  right: { protect: true, log: false },
}

/** Initial settings, so that the page first shows a shore that melts beside one that does not. */
export const STORM: Settings = {
  phones: 300,
  left: { protect: false, log: true },
  right: { protect: true, log: true },
}

/** Returns the settings with those in `given` changed. Throws a RangeError that says what was expected. */
export function changed(now: Settings, given: unknown): Settings {
  const { phones = now.phones, left, right } = object(given, 'settings')
  if (!Number.isInteger(phones) || (phones as number) < 0 || (phones as number) > MOST_PHONES) {
    throw new RangeError(`phones must be a whole number from 0 to ${MOST_PHONES}, got ${String(phones)}`)
  }
  return { phones: phones as number, left: side(now.left, left, 'left'), right: side(now.right, right, 'right') }
}

function side(now: SideSettings, given: unknown, name: string): SideSettings {
  const { protect = now.protect, log = now.log } = object(given ?? {}, name)
  if (typeof protect !== 'boolean' || typeof log !== 'boolean') {
    throw new RangeError(`protect and log of ${name} must be true or false`)
  }
  return { protect, log }
}

function object(given: unknown, name: string): Readonly<Record<string, unknown>> {
  if (given !== null && typeof given === 'object' && !Array.isArray(given)) return given as Record<string, unknown>
  throw new RangeError(`${name} must be an object`)
}
