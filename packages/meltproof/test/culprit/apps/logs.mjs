/** Blocks the loop twenty times for 150 ms, logs an object of 8 MB each time, and then prints the size of the heap, MB. */
import http from 'node:http'

http.createServer((_, response) => response.end()).listen(0)
let count = 0
const turn = () => {
  for (const until = performance.now() + 150; performance.now() < until; );
  console.debug(Object.defineProperty({}, 'body', { value: new Array(1e6).fill(count) }))
  if (++count < 20) setTimeout(turn, 100)
  else setTimeout(end, 500)
}
const end = () => {
  gc()
  console.log(Math.round(process.memoryUsage().heapUsed / 1e6))
  process.exit()
}
setTimeout(turn, 500)
