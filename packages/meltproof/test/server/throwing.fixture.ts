/**
 * A child process whose handler throws. Arguments: `bare`, `at-once` or `queued`; then `sync` or `async`; then `caught`
 * to survive through an uncaughtException listener. Prints each error that surfaced and the next status, as JSON lines.
 */
import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { fixedLimit } from '../../src/admission/limiter/limiter.ts'
import { RequestPath } from '../../src/server/request-path.ts'
import { HTML_PAGE, OwnAnswers, SHED_PROBLEM } from '../../src/server/response/own-answers.ts'

const [arm, kind, survival] = process.argv.slice(2)
const say = (what: object): boolean => process.stdout.write(`${JSON.stringify(what)}\n`)
const failed = Promise.withResolvers<void>()
if (survival === 'caught')
  process.on('uncaughtException', (error, origin) => {
    say({ message: error.message, origin })
    failed.resolve()
  })

const fail = (): never => {
  throw new Error('the app’s own')
}
let releaseFirst = (): void => undefined
const firstCame = Promise.withResolvers<void>()
const server = http.createServer((request, response) => {
  if (request.url === '/first') {
    releaseFirst = () => response.end()
    firstCame.resolve()
  } else if (request.url === '/fine') response.end('fine')
  else if (kind === 'sync') fail()
  else void Promise.resolve().then(fail)
})
if (arm !== 'bare') {
  const answers = new OwnAnswers({
    retryAfterS: [1, 1],
    headers: {},
    body: SHED_PROBLEM,
    page: HTML_PAGE,
    pressure: () => 1,
  })
  const requestPath = new RequestPath(server, {
    guard: {},
    limiter: fixedLimit(1),
    answers,
    onFailure: error => say({ failed: String(error) }),
  })
  if (arm === 'queued') {
    const waiting = setInterval(() => {
      if (requestPath.stats().queued === 0) return
      clearInterval(waiting)
      releaseFirst()
    }, 1)
  }
}
server.listen(0, '127.0.0.1')
await once(server, 'listening')
const { port } = server.address() as AddressInfo
const get = (path: string): http.ClientRequest => http.get({ port, path, agent: false }).on('error', () => undefined)
if (arm === 'queued') {
  get('/first')
  await firstCame.promise
}
const failing = get('/fail')
// With a limit of one, the next request is served only if the failing one returns its permit.
await failed.promise
failing.destroy()
get('/fine').on('response', response => {
  say({ status: response.statusCode })
  process.exit()
})
