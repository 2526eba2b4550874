/** The clients of each database as `bound()` makes them. */
import { bound as boundRedis } from '../../../src/databases/ioredis.ts'
import { bound as boundMysql } from '../../../src/databases/mysql2.ts'
import { bound as boundPg } from '../../../src/databases/pg.ts'
import type { Arm } from './arm.ts'

/** A busy machine must not add deadlines of its own, ms. */
const LIMIT_MS = 60_000

export const BOUND: Readonly<Record<string, Arm['bind']>> = {
  pg: client => boundPg(client, { queryMs: LIMIT_MS, acquireMs: LIMIT_MS }),
  mysql: client => boundMysql(client, { queryMs: LIMIT_MS, acquireMs: LIMIT_MS }),
  redis: client => boundRedis(client, { commandMs: LIMIT_MS }),
}
