/** Human Tide, the app of this experiment. It needs Express and PostgreSQL, so it runs in a checkout only. */
import { existsSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { UserError } from '../user-error.ts'
import type { LoadRequest } from '../load/load-request.ts'
import type { Context, RunningApp } from '../experiment/scenario.ts'

/** Works from packages/lab/src/scenarios and packages/lab/dist/scenarios. */
const folder = fileURLToPath(new URL('../../../../examples/human-tide', import.meta.url))

function script(name: string): readonly string[] {
  const file = path.join(folder, name)
  if (existsSync(file)) return [process.execPath, file]
  throw new UserError(
    'the tide experiment runs examples/human-tide, which is not part of the published meltlab: clone the repository of ' +
      'meltproof, run `npm ci && npm run build` there, then `npx meltlab run tide`',
  )
}

export interface TideDatabase {
  readonly url: string
  /** Reads the table: how many acknowledged positions are missing, and how many are stored for these phones. */
  missing(load: PhoneLoad, acknowledged: readonly number[]): Promise<{ missing: number; stored: number }>
  crash(): Promise<void>
  restart(): Promise<void>
}

/** A PostgreSQL in a temporary folder. */
export async function startDatabase(context: Context): Promise<TideDatabase> {
  const app = await context.start({
    name: 'PostgreSQL',
    run: script('scripts/lab-database.ts'),
    core: 'dependency',
    atPort: true,
    startTimeoutMs: 60_000,
  })
  const post = async <T>(route: string, body: object): Promise<T> => {
    const answer = await fetch(new URL(route, app.origin), {
      method: 'POST',
      body: JSON.stringify(body),
      signal: context.signal,
    })
    const said = (await answer.json()) as T & { error?: string }
    if (!answer.ok) throw new Error(`the database's ${route} failed: ${said.error ?? answer.status}`)
    return said
  }
  const { url } = await app.ask<{ url: string }>('/url')
  return {
    url,
    missing: ({ prefix, phones }, acknowledged) => {
      const numbers = Buffer.from(Uint32Array.from(acknowledged).buffer).toString('base64')
      return post('/missing', { prefix: `${prefix}-`, senders: phones, numbers })
    },
    crash: () => post('/crash', {}),
    restart: () => post('/restart', {}),
  }
}

export interface TideArm {
  readonly name: string
  readonly env: Readonly<Record<string, string>>
}

export function startTide(context: Context, arm: TideArm, databaseUrl: string, port?: string): Promise<RunningApp> {
  const env = { DATABASE_URL: databaseUrl, ...arm.env, ...(port === undefined ? {} : { PORT: port }) }
  return context.start({
    name: `human-tide, ${arm.name}`,
    run: script('src/main.ts'),
    core: 'server',
    atPort: true,
    env,
  })
}

export interface PhoneLoad {
  /** Different for each load, to distinguish its phones from all others. */
  readonly prefix: string
  readonly phones: number
  readonly durationMs: number
}

/** Phones that send once a second, each on its own connection; every position is different. */
export function phoneRequest(origin: string, { prefix, phones, durationMs }: PhoneLoad): LoadRequest {
  const sender = `{{sender ${phones}}}`
  const turn = `{{turn ${phones}}}`
  const position = `{"seq":1${turn},"at":{{timestamp}},"lat":54.0${sender},"lon":8.0${turn},"accuracy":5}`
  return {
    url: new URL('/api/positions', origin).href,
    method: 'POST',
    headers: { authorization: `Bearer ${prefix}-1${sender}`, 'content-type': 'application/json' },
    body: `{"name":"Walker ${sender}","sentAt":{{timestamp}},"positions":[${position}]}`,
    rate: phones,
    connections: phones,
    durationMs,
    // Longer than any phone would wait: slow answers are measured, and missing ones end the step.
    timeoutMs: 8000,
    templated: true,
    acknowledged: true,
  }
}
