/** The environment variables, checked. Pure. */
import { fileURLToPath } from 'node:url'

export interface Config {
  readonly host: string
  readonly port: number
  /** Port of the storm that `/` shows to a browser on this computer. */
  readonly stormPort: number
  /** If it is undefined, the service runs its own PostgreSQL in `dataDir`. */
  readonly databaseUrl: string | undefined
  readonly dataDir: string
  readonly keepDays: number
  /** Number of proxies in front of the service. The addresses that they add to X-Forwarded-For are trusted. */
  readonly proxies: number
  /** `console` logs one line per request, which made the app of 2013 fail. */
  readonly log: 'off' | 'console'
  readonly protect: boolean
  readonly tls: { readonly cert: string; readonly key: string } | undefined
}

type Env = Readonly<Record<string, string | undefined>>

/** Throws an Error that names the variable, the expected values and, unless it may be secret, the given one. */
export function readConfig(env: Env): Config {
  const { TLS_CERT: cert, TLS_KEY: key } = env
  if ((cert === undefined) !== (key === undefined)) throw new Error('TLS_CERT and TLS_KEY go together; only one is set')
  const databaseUrl = env['DATABASE_URL'] || undefined
  if (databaseUrl !== undefined && !/^postgres(ql)?:\/\//.test(databaseUrl)) {
    // The value may hold a password, so it is not repeated.
    throw new Error('DATABASE_URL expects a postgres:// address')
  }
  return {
    host: env['HOST'] ?? '127.0.0.1',
    port: whole(env, 'PORT', 3000, 0, 65_535),
    stormPort: whole(env, 'STORM_PORT', 3100, 0, 65_535),
    databaseUrl,
    dataDir: env['DATA_DIR'] ?? fileURLToPath(new URL('../.data', import.meta.url)),
    keepDays: whole(env, 'KEEP_DAYS', 30, 1, 3650),
    proxies: whole(env, 'PROXIES', 0, 0, 10),
    log: oneOf(env, 'LOG', ['off', 'console']),
    protect: oneOf(env, 'PROTECT', ['on', 'off']) === 'on',
    tls: cert === undefined || key === undefined ? undefined : { cert, key },
  }
}

function whole(env: Env, name: string, byDefault: number, min: number, max: number): number {
  const given = env[name]
  if (given === undefined) return byDefault
  const value = Number(given)
  if (/^\d+$/.test(given) && value >= min && value <= max) return value
  throw new Error(`${name} expects a whole number from ${min} to ${max}, got "${given}"`)
}

function oneOf<T extends string>(env: Env, name: string, choices: readonly [T, ...T[]]): T {
  const given = env[name] ?? choices[0]
  const found = choices.find(choice => choice === given)
  if (found !== undefined) return found
  throw new Error(`${name} expects ${choices.join(' or ')}, got "${given}"`)
}
