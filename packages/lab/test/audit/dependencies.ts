/** Dependencies of the test apps: a real PostgreSQL, a server that speaks enough MySQL, and one that answers late. */
import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo, Server } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import mysql from 'mysql2'
import { startPostgres } from '../../../meltproof/test/databases/real-servers.ts'

export interface Dependencies {
  /** Variables for the environment of an app. */
  readonly env: Readonly<Record<string, string>>
  stop(): Promise<void>
}

export async function startDependencies(): Promise<Dependencies> {
  const backend = http.createServer((_request, response) => {
    // Late enough that requests wait for each other.
    void sleep(20).then(() => response.end('here'))
  })
  backend.listen(0, '127.0.0.1')
  await once(backend, 'listening')
  const mysqlServer = mysqlThatAnswersOne()
  await once(mysqlServer, 'listening')
  const postgres = await startPostgres()
  return {
    env: {
      BACKEND: `http://127.0.0.1:${portOf(backend)}`,
      MYSQL_PORT: String(portOf(mysqlServer)),
      PG_PORT: String(postgres.port),
    },
    async stop() {
      backend.close().closeAllConnections()
      mysqlServer.close()
      await postgres.stop()
    },
  }
}

interface Spoken {
  sequenceId: number
  serverHandshake(hello: object): void
  writeColumns(columns: readonly object[]): void
  writeTextRow(row: readonly unknown[]): void
  writeEof(): void
  on(event: string, listener: () => void): void
}

function mysqlThatAnswersOne(): Server {
  const server = (mysql as unknown as { createServer(): { _server: Server; on: Spoken['on'] } }).createServer()
  server.on('connection', ((client: Spoken) => {
    client.serverHandshake({
      protocolVersion: 10,
      serverVersion: '8',
      connectionId: 1,
      statusFlags: 2,
      characterSet: 8,
      capabilityFlags: 0xff_f7_df,
    })
    client.on('query', () => {
      client.sequenceId = 1
      const column = { catalog: 'def', schema: '', name: '1', orgName: '1', table: '', orgTable: '', characterSet: 63 }
      client.writeColumns([{ ...column, columnLength: 1, columnType: 8, flags: 0, decimals: 0 }])
      client.writeTextRow([1])
      client.writeEof()
      client.sequenceId = 0 // the next command starts a new sequence
    })
    client.on('error', () => {})
  }) as never)
  return server._server.listen(0, '127.0.0.1')
}

function portOf(server: Pick<Server, 'address'>): number {
  return (server.address() as AddressInfo).port
}
