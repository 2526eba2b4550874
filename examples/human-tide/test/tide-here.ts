/** Runs the service in this process, with its own port and database. */
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { createTide, type TideOptions } from '../src/tide.ts'
import { type TestDatabase, testDatabase } from './postgres.ts'

export interface TideHere {
  readonly database: TestDatabase
  readonly origin: string
  end(): Promise<void>
}

/** Resolves when the service answers. */
export async function tideHere(
  options: Omit<TideOptions, 'databaseUrl'>,
  prepare: (server: http.Server) => unknown = () => undefined,
): Promise<TideHere> {
  const database = await testDatabase()
  const tide = createTide({ databaseUrl: database.url, ...options })
  const server = http.createServer(tide.app)
  prepare(server)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  while ((await fetch(`${origin}/api/health`)).status !== 200);
  return {
    database,
    origin,
    async end() {
      tide.endLiveStreams()
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
      await tide.close()
      await database.end()
    },
  }
}
