/** Starts a PostgreSQL for scenarios that need one, in its own folder. */
import path from 'node:path'
import type { Context, RunningApp } from '../experiment/scenario.ts'
import { temporaryFolder } from '../experiment/temporary-folder.ts'

export interface Postgres {
  readonly app: RunningApp
  readonly connectionString: string
}

export async function startPostgres(context: Context): Promise<Postgres> {
  const app = await context.start({
    name: 'PostgreSQL',
    run: 'postgres.js',
    core: 'dependency',
    env: { DATA_DIR: path.join(temporaryFolder(context, 'postgres'), 'data') },
    startTimeoutMs: 60_000,
  })
  return { app, ...(await app.ask<{ connectionString: string }>('/')) }
}
