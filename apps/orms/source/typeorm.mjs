// TypeORM makes a pool of pg or mysql2, which is bound after its creation.
import { DataSource, EntitySchema } from 'typeorm'

const Write = new EntitySchema({
  name: 'Write',
  tableName: 'orm_writes',
  columns: {
    pk: { type: Number, primary: true, generated: true },
    history: { type: Number },
    id: { type: Number },
  },
})

export async function open({ dialect, connection, size, bind }) {
  const { user: username, ...rest } = connection
  const source = new DataSource({
    ...rest,
    username,
    type: dialect === 'pg' ? 'postgres' : 'mysql',
    poolSize: size,
    entities: [Write],
    logging: false,
  })
  await source.initialize()
  bind(dialect === 'pg' ? source.driver.master : source.driver.pool)
  const doing = manager => ({
    insert: (history, id) => manager.getRepository(Write).insert({ history, id }),
    work: sql => manager.query(sql),
    nested: run => manager.transaction(inner => run(doing(inner))),
  })
  return {
    ...doing(source.manager),
    transaction: run => source.transaction(manager => run(doing(manager))),
    async byHand(run) {
      const runner = source.createQueryRunner()
      try {
        await runner.connect()
        await runner.startTransaction()
        try {
          await run(doing(runner.manager))
          await runner.commitTransaction()
        } catch (error) {
          await runner.rollbackTransaction()
          throw error
        }
      } finally {
        await runner.release()
      }
    },
    close: () => source.destroy(),
  }
}
