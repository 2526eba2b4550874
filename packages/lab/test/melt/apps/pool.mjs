/** Every request waits for one of ten connections and holds it for 50 ms: 200/s, and hardly any CPU. */
import http from 'node:http'

let free = 10
const waiting = []
const hold = response => {
  setTimeout(() => {
    response.end('row')
    const next = waiting.shift()
    if (next) hold(next)
    else free++
  }, 50)
}
http
  .createServer((_request, response) => {
    if (free === 0) waiting.push(response)
    else {
      free--
      hold(response)
    }
  })
  .listen(process.env.PORT, '127.0.0.1')
