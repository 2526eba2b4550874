/** Five routes each hold the event loop for 200 ms, and one logs. All others are quiet. */
import http from 'node:http'

const routes = {
  '/one': function one() {
    for (const until = performance.now() + 200; performance.now() < until; );
  },
  '/two': function two() {
    for (const until = performance.now() + 200; performance.now() < until; );
  },
  '/three': function three() {
    for (const until = performance.now() + 200; performance.now() < until; );
  },
  '/four': function four() {
    for (const until = performance.now() + 200; performance.now() < until; );
  },
  '/five': function five() {
    for (const until = performance.now() + 200; performance.now() < until; );
  },
  '/log': function log() {
    console.log('asked')
  },
}

http
  .createServer((request, response) => {
    routes[request.url]?.()
    response.end('ok')
  })
  .listen(process.env.PORT)
process.on('SIGTERM', () => process.exit(0))
