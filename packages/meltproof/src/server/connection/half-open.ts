/**
 * `server.httpAllowHalfOpen`: a client may send its end after its last request and still be answered. Node sees to that
 * while an answer is under way, but knows nothing of requests that wait at the gate, and would end the connection.
 */
import type { Server } from 'node:http'
import { type Connection, STAND_IN } from './connection.ts'

type Ending = object & { _last?: boolean }

/** Has the end of the client's side wait for the requests of this connection that wait. */
export function answerAfterEnd(connection: Connection, server: Server & { httpAllowHalfOpen?: boolean }): void {
  if (server.httpAllowHalfOpen !== true) return
  const { socket } = connection
  let notLast: Ending[] = []
  // Before Node's own listener: it marks the answer after which it closes, the last one that it knows of.
  socket.prependListener('end', () => {
    const last = connection.behind.at(-1) ?? connection.waiting
    if (last !== undefined) last.keepAlive = false
    else if (connection.owed !== undefined) connection.owed = { ...connection.owed, keepAlive: false }
    else return
    socket._httpMessage ??= STAND_IN
    const answers: Ending[] = [socket._httpMessage, ...connection.queuedResponses()]
    notLast = answers.filter(each => each._last !== true)
  })
  socket.on('end', () => {
    for (const each of notLast) each._last = false
    notLast = []
    if (socket._httpMessage === STAND_IN) socket._httpMessage = null
  })
}
