// Prisma 7 no longer has its own engine. Its adapter uses a pool of pg.
import { PrismaPg } from '@prisma/adapter-pg'
import pg from 'pg'
import { PrismaClient } from './generated/client.ts'

/** The limits of Prisma on transactions, ms. They are long so that they never apply. */
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
