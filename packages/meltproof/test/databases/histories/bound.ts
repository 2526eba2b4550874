/** Wraps the clients of each database with `bound()`. */
import { bound as boundRedis } from '../../../src/databases/ioredis.ts'
import { bound as boundMysql } from '../../../src/databases/mysql2.ts'
import { bound as boundPg } from '../../../src/databases/pg.ts'
import type { Arm } from './arm.ts'

/** High, so that a busy machine adds no deadlines, ms. */
const LIMIT_MS = 60_000

export const BOUND: Readonly<Record<string, Arm['bind']>> = {
  pg: client => boundPg(client, { queryMs: LIMIT_MS, acquireMs: LIMIT_MS }),
  mysql: client => boundMysql(client, { queryMs: LIMIT_MS, acquireMs: LIMIT_MS }),
  redis: client => boundRedis(client, { commandMs: LIMIT_MS }),
}
