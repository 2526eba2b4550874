// Sequelize has its own pool of single clients. A hook binds each.
import { DataTypes, Sequelize } from 'sequelize'

// Sequelize warns about every failed rollback, with any options. There are thousands of them here.
const { warn } = console
console.warn = (...words) => {
  if (!/We are killing its connection/.test(String(words[0]))) warn(...words)
}

export async function open({ dialect, connection, size, bind }) {
  const db = new Sequelize(connection.database, connection.user, connection.password, {
    host: connection.host,
    port: connection.port,
    dialect: dialect === 'pg' ? 'postgres' : 'mysql',
    logging: false,
    pool: { max: size, min: 0, acquire: 60_000 },
    hooks: { afterConnect: client => void bind(client) },
  })
  const Write = db.define(
    'Write',
    {
      pk: { type: DataTypes.INTEGER, primaryKey: true, autoIncrement: true },
      history: DataTypes.INTEGER,
      id: DataTypes.INTEGER,
    },
    { tableName: 'orm_writes', timestamps: false },
  )
  // Connects first, like apps at their start. Otherwise the first request asks for the version of the server under its
  // own deadline, and all requests that arrive before the answer share it.
  await db.authenticate()
  const doing = transaction => ({
    insert: (history, id) => Write.create({ history, id }, { transaction }),
    work: sql => db.query(sql, { transaction }),
    nested: run => db.transaction({ transaction }, inner => run(doing(inner))),
  })
  return {
    insert: (history, id) => Write.create({ history, id }),
    work: sql => db.query(sql),
    transaction: run => db.transaction(transaction => run(doing(transaction))),
    async byHand(run) {
      const transaction = await db.transaction()
      try {
        await run(doing(transaction))
        await transaction.commit()
      } catch (error) {
        await transaction.rollback()
        throw error
      }
    },
    close: () => db.close(),
  }
}
