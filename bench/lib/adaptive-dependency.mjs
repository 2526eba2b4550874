/**
 * A dependency with a pool of 10 connections of 50 ms each: 200 answers/s. It also works on requests that their callers
 * have abandoned. IPC messages change its behaviour; `count` asks for the number of requests received.
 */
import http from 'node:http'

const waiting = []
let busy = 0
let size = 10
let came = 0
let slowShare = 0
let way = 'works'
const freed = () => {
  busy--
  while (busy < size && waiting.length > 0) waiting.shift()()
}
const pooled = ms =>
  new Promise(done => {
    const go = () => {
      busy++
      setTimeout(() => {
        freed()
        done()
      }, ms)
    }
    if (busy < size) go()
    else waiting.push(go)
  })

const server = http.createServer(async (request, response) => {
  came++
  if (way === 'refuses') return void request.socket.destroy()
  if (way === 'half' && Math.random() < 0.5) return void request.socket.destroy()
  if (way === 'hangs') return
  if (Math.random() < slowShare) await new Promise(done => setTimeout(done, 5000))
  else await pooled(50)
  response.end('ok')
})
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }))

process.on('message', order => {
  if (order === 'count') return void process.send({ came })
  if (order.way !== undefined) way = order.way
  if (order.size !== undefined) size = order.size
  if (order.slowShare !== undefined) slowShare = order.slowShare
})
process.on('disconnect', () => process.exit())
