/**
 * A protected app that records its own work: `node app.mjs APP LIMIT PATHS`, started by ../record.ts. LIMIT is a
 * number, or `learned`, or `bare` for no protection; PATHS are the kinds of requests, separated by commas. It sends the
 * port it listens on, and answers a message with its notes.
 */
import http from 'node:http'
import { protect } from '../../packages/meltproof/dist/index.js'
import { Notes } from './notes.mjs'
import { listenerOf } from './work.mjs'

const [app = '', limit = '', list = '/'] = process.argv.slice(2)
const paths = list.split(',')
const server = http.createServer()
const guard = limit === 'bare' ? undefined : protect(server, limit === 'learned' ? {} : { limit: Number(limit) })
const shed = () => (guard === undefined ? 0 : Object.values(guard.stats().shed).reduce((sum, n) => sum + n, 0))
const notes = new Notes(shed)
// Idle connections must not be closed and reopened in the middle of a run.
server.keepAliveTimeout = 60_000
server.on('request', await listenerOf(app, notes, url => paths.indexOf(url)))
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }))
process.on('message', () => process.send(notes.all()))
process.on('disconnect', () => process.exit())
