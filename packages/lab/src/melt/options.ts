/** The options of `meltlab melt`: defaults with reasons, and checks. Pure. */
import { typedCommand } from '../command-line.ts'
import { parseDuration } from '../durations.ts'
import type { LoadPlan, Spacing, Tls } from '../load/plan.ts'
import { checkPath, type Given, headersOf, knownMethod, numberOf, parseUrl, type TlsFlags } from '../option-values.ts'
import { UserError } from '../user-error.ts'
import type { RecoveryShape } from './measured.ts'

/** Raw options from commander: texts and switches. */
export type RawMeltOptions = Given<'slo' | 'rounds' | 'startTimeout' | 'spacing' | 'method' | 'out', string> &
  Given<'also' | 'header', readonly string[]> &
  Partial<Given<'at' | 'duration' | 'connections' | 'timeout' | 'url' | 'path' | 'body' | 'name', string>> &
  Partial<Given<'fresh' | 'quick' | 'json' | 'recovery', boolean>> &
  TlsFlags

export interface CapacityTimes {
  /** Warm-up before the measurement, so that V8 compiles the hot code. */
  readonly warmUpMs: number
  readonly probeMs: number
  /** The probe that gives the capacity; its first second does not count. */
  readonly confirmMs: number
}

export interface MeltOptions extends Pick<LoadPlan, 'method' | 'headers' | 'body' | 'sloMs' | 'timeoutMs'> {
  readonly command: readonly string[]
  readonly name: string
  readonly multiples: readonly number[]
  readonly durationMs: number
  /** The last part of the duration, which is not measured: see `windowOf`. */
  readonly afterWindowMs?: number
  readonly rounds: number
  readonly connections: number | undefined
  readonly fresh: boolean
  readonly startTimeoutMs: number
  readonly spacing: Spacing
  readonly url: URL | undefined
  readonly path: string
  /** How to trust the app's certificate; undefined without TLS, or with Node's defaults. */
  readonly tls?: Tls | undefined
  readonly capacityTimes: CapacityTimes
  /** The spike from which each arm must recover at the end; undefined for none. */
  readonly recovery: RecoveryShape | undefined
}

/** The values with and without --quick; explicit options win over both. */
export const presets = {
  full: {
    at: '0.5,1,2,6,10',
    duration: '10s',
    // Five times the usual SLO: by then clients have given up.
    timeout: '5s',
    capacityTimes: { warmUpMs: 1500, probeMs: 1000, confirmMs: 4000 },
    recovery: { beforeS: 2, spike: 10, spikeS: 3, afterS: 18, retries: 2 },
  },
  quick: {
    at: '0.5,2,6',
    duration: '3s',
    timeout: '2s',
    capacityTimes: { warmUpMs: 800, probeMs: 600, confirmMs: 3000 },
    recovery: { beforeS: 1, spike: 10, spikeS: 2, afterS: 8, retries: 2 },
  },
} as const

/** A step has one second to become steady, and at least one that counts. */
const shortestStepMs = 2000

/** `name`: the command of meltlab. */
export function checkOptions(raw: RawMeltOptions, typed: readonly string[], name = 'melt'): MeltOptions {
  const preset = raw.quick === true ? presets.quick : presets.full
  const command = typedCommand(typed, name)
  const sloMs = parseDuration(raw.slo, '--slo')
  const durationMs = parseDuration(raw.duration ?? preset.duration, '--duration')
  const timeoutMs = parseDuration(raw.timeout ?? preset.timeout, '--timeout')
  if (durationMs < shortestStepMs) {
    throw new UserError(`--duration must be at least 2s, one to become steady and one to count, got ${raw.duration}`)
  }
  if (timeoutMs < sloMs) {
    throw new UserError(`--timeout (${timeoutMs / 1000}s) must not be shorter than --slo (${sloMs / 1000}s)`)
  }
  if (raw.spacing !== 'even' && raw.spacing !== 'poisson') {
    throw new UserError(`--spacing must be even or poisson, got ${raw.spacing}`)
  }
  if (raw.fresh === true && raw.connections !== undefined) {
    throw new UserError(
      '--fresh opens a connection for every request, so --connections has no effect; omit one of them',
    )
  }
  const url = raw.url === undefined ? undefined : parseUrl(raw.url)
  return {
    command,
    name: slug(raw.name ?? nameOf(command)),
    multiples: parseMultiples(raw.at ?? preset.at),
    sloMs,
    durationMs,
    rounds: numberOf(raw.rounds, '--rounds', 1, 100, true),
    connections: raw.connections === undefined ? undefined : numberOf(raw.connections, '--connections', 1, 8_000, true),
    fresh: raw.fresh === true,
    timeoutMs,
    startTimeoutMs: parseDuration(raw.startTimeout, '--start-timeout'),
    spacing: raw.spacing,
    url,
    path: checkPath(raw.path ?? (url === undefined ? '/' : url.pathname + url.search)),
    method: knownMethod(raw.method, '--method'),
    headers: headersOf(raw.header),
    body: raw.body,
    capacityTimes: preset.capacityTimes,
    recovery: raw.recovery === true ? preset.recovery : undefined,
  }
}

export function parseMultiples(text: string): number[] {
  const multiples = text.split(',').map(part => Number(part.trim().replace(/x$/i, '') || Number.NaN))
  if (multiples.some(value => !(value > 0 && value <= 1000))) {
    throw new UserError(
      `--at must be multiples of the capacity from above 0 to 1000, such as 0.5,1,2,6,10, got ${text}`,
    )
  }
  return [...new Set(multiples)].sort((a, b) => a - b)
}

/** The script says more than the program: `node --flag src/server.js` is "server", `npm start` is "npm-start". */
export function nameOf(command: readonly string[]): string {
  const script = command.find(word => /\.[cm]?[jt]sx?$/.test(word))
  if (script !== undefined) return script.slice(script.lastIndexOf('/') + 1).replace(/\.[^.]*$/, '')
  return command
    .filter(word => !word.startsWith('-'))
    .slice(0, 3)
    .map(word => word.slice(word.lastIndexOf('/') + 1))
    .join('-')
}

/** A name that is safe for a folder. */
export function slug(name: string): string {
  return (
    name
      .replace(/[^\w.-]+/g, '-')
      .replace(/^[-.]+|-+$/g, '')
      .slice(0, 60) || 'app'
  )
}
