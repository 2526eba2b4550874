// knex has its own pool (tarn) of single clients of pg or mysql2. Each client is bound when it is made.
import knex from 'knex'

export function open({ dialect, connection, size, bind }) {
  const db = knex({
    client: dialect === 'pg' ? 'pg' : 'mysql2',
    connection,
    pool: {
      min: 0,
      max: size,
      afterCreate(client, done) {
        bind(client)
        done(null, client)
      },
    },
  })
  const insertOn = on => (history, id) => on('orm_writes').insert({ history, id })
  const workOn = on => sql => on.raw(sql)
  const inTransaction = on => run =>
    on.transaction(trx => run({ insert: insertOn(trx), work: workOn(trx), nested: inTransaction(trx) }))
  return {
    insert: insertOn(db),
    work: workOn(db),
    transaction: inTransaction(db),
    async byHand(run) {
      const trx = await db.transaction()
      try {
        await run({ insert: insertOn(trx), work: workOn(trx), nested: inTransaction(trx) })
        await trx.commit()
      } catch (error) {
        await trx.rollback()
        throw error
      }
    },
    close: () => db.destroy(),
  }
}
