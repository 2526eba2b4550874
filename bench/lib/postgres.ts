/** A real PostgreSQL, started like in the scenarios of the lab. */
import { makeContext } from '../../packages/lab/src/experiment/context.ts'
import { startPostgres as start } from '../../packages/lab/src/scenarios/postgres.ts'

export async function startPostgres(): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const { context, end } = makeContext({
    form: 'full',
    signal: new AbortController().signal,
    progress: { status() {}, line() {}, clear() {} },
    cores: undefined,
  })
  const { connectionString } = await start(context)
  return { url: connectionString, stop: end }
}
