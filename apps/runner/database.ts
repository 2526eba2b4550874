/** The database of apps that need one. */
import { join } from 'node:path'

/** The `upstream` of an app (definition.ts) that needs PostgreSQL. */
export const POSTGRES: readonly string[] = [join(import.meta.dirname, 'postgres.mjs')]

export const POSTGRES_URL = 'postgres://postgres:secret@127.0.0.1:{upstream}/postgres'
