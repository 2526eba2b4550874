/**
 * Checks what a phone sends. Pure: the time is passed in. A report that passes can be stored, so none makes a batch
 * fail.
 */
import { faultOfName } from '../../public/walker-name.js'
import { Refusal } from '../refusal.ts'

export interface Position {
  /** The phone's own count, by which a resent position is recognised. */
  readonly seq: number
  /** Time by the server's clock, ms. */
  readonly at: number
  readonly lat: number
  readonly lon: number
  /** Radius of 68 % confidence, metres (Geolocation API). */
  readonly accuracy: number
}

export interface Report {
  readonly name: string
  readonly positions: readonly Position[]
}

export const MOST_POSITIONS = 100
/**
 * A phone's clock is corrected if it is off by at most this, ms; beyond that, the report is refused with the server's
 * time.
 */
const CLOCK_OFF_MS = 86_400_000
/** Positions may wait on the phone for this long, ms: a week. */
const OLDEST_MS = 7 * 86_400_000
/** Clocks and timers jitter: a position may be this much younger than the report it came in, ms. */
const JITTER_MS = 5000

/** Throws a Refusal (400) that names the fault; then nothing of the report is stored. */
export function parseReport(body: unknown, now: number): Report {
  const { name, sentAt, positions } = record(body)
  if (typeof name !== 'string') throw new Refusal(400, 'bad-name', 'name must be a text')
  const fault = faultOfName(name)
  if (fault !== undefined) throw new Refusal(400, 'bad-name', fault)
  if (!isWhole(sentAt, 0)) throw new Refusal(400, 'bad-clock', "sentAt must be the phone's time, ms since 1970")
  const offMs = now - sentAt
  if (Math.abs(offMs) > CLOCK_OFF_MS) {
    const days = Math.round(Math.abs(offMs) / 86_400_000)
    const direction = offMs > 0 ? 'slow' : 'fast'
    throw new Refusal(400, 'clock-wrong', `This phone's clock is ${days} days ${direction}`, { serverTime: now })
  }
  if (!Array.isArray(positions) || positions.length < 1 || positions.length > MOST_POSITIONS) {
    throw new Refusal(400, 'bad-positions', `positions must be a list of 1 to ${MOST_POSITIONS}`)
  }
  const invalid: { index: number; seq: number | null; why: string }[] = []
  const good = positions.map((given, index) => {
    const why = faultOf(given, sentAt)
    if (why !== undefined) invalid.push({ index, seq: seqOf(given), why })
    return given as Position
  })
  if (invalid.length > 0) {
    throw new Refusal(400, 'bad-positions', `${invalid[0]!.why}; nothing of this report was stored`, { invalid })
  }
  return {
    name: name.trim(),
    positions: good.map(({ seq, at, lat, lon, accuracy }) => ({
      seq,
      at: Math.min(at + offMs, now),
      lat,
      lon,
      accuracy: toCentimetres(accuracy),
    })),
  }
}

function faultOf(given: unknown, sentAt: number): string | undefined {
  const { seq, at, lat, lon, accuracy } = given !== null && typeof given === 'object' ? (given as Position) : {}
  if (!isWhole(seq, 1)) return 'seq must be a whole number from 1'
  if (!isWithin(lat, -90, 90)) return 'lat must be a number from -90 to 90'
  if (!isWithin(lon, -180, 180)) return 'lon must be a number from -180 to 180'
  // Half the way around the earth, metres.
  if (!isWithin(accuracy, 0, 20_040_000)) return 'accuracy must be metres from 0 to 20,040,000'
  if (!isWhole(at, 0)) return 'at must be a time, ms since 1970'
  if (at > sentAt + JITTER_MS) return 'at is later than sentAt'
  if (at < sentAt - OLDEST_MS) return 'at is more than a week ago'
  return undefined
}

/**
 * Identifies the position for the client. Only a number is sent back: other values may be as large and as deep as a
 * request.
 */
function seqOf(given: unknown): number | null {
  const seq = (given as { seq?: unknown } | null)?.seq
  return typeof seq === 'number' ? seq : null
}

function record(body: unknown): Readonly<Record<string, unknown>> {
  if (body !== null && typeof body === 'object' && !Array.isArray(body)) return body as Record<string, unknown>
  throw new Refusal(400, 'bad-report', 'The body must be an object with name, sentAt and positions')
}

/** The column is a `real`, which refuses values that are too small for it, such as 1e-46. No phone is more accurate. */
const toCentimetres = (metres: number): number => Math.round(metres * 100) / 100

const isWhole = (value: unknown, min: number): value is number =>
  Number.isSafeInteger(value) && (value as number) >= min
const isWithin = (value: unknown, min: number, max: number): value is number =>
  typeof value === 'number' && value >= min && value <= max
