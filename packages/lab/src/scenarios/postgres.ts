/** A real PostgreSQL for the scenarios that need one, in a folder of its own. */
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
