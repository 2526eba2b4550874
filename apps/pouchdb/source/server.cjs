// A CouchDB in Node: express-pouchdb with databases in memory.
const express = require('express')
const expressPouchDB = require('express-pouchdb')
const PouchDB = require('pouchdb-core')

for (const plugin of ['adapter-http', 'adapter-memory', 'mapreduce', 'replication', 'find']) {
  PouchDB.plugin(require(`pouchdb-${plugin}`).default ?? require(`pouchdb-${plugin}`))
}
const app = express()
app.use('/', expressPouchDB(PouchDB, { inMemoryConfig: true, logPath: `${process.env.DATA}/log.txt` }))
const server = app.listen(Number(process.env.PORT), '127.0.0.1')
process.on('SIGTERM', () => server.close(() => process.exit(0)))
