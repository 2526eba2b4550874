// Prisma 7 has no engine of its own any more: its adapter takes a pool of pg.
import { PrismaPg } from '@prisma/adapter-pg'
import pg from 'pg'
import { PrismaClient } from './generated/client.ts'

/** Its own limits on transactions, out of the way, ms. */
const LONG_MS = 60_000

export function open({ connection, size, bind }) {
  const pool = bind(new pg.Pool({ ...connection, max: size }))
  pool.on('error', () => {})
  const prisma = new PrismaClient({ adapter: new PrismaPg(pool, { disposeExternalPool: false }) })
  const doing = on => ({
    insert: async (history, id) => {
      await on.write.create({ data: { history, id } })
    },
    work: sql => on.$queryRawUnsafe(sql),
  })
  return {
    ...doing(prisma),
    transaction: run => prisma.$transaction(tx => run(doing(tx)), { maxWait: LONG_MS, timeout: LONG_MS }),
    async close() {
      await prisma.$disconnect()
      await pool.end()
    },
  }
}
