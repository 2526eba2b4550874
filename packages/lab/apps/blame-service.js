/**
 * The service of the blame experiment, under meltproof. `/op?port=P&took=MS` is an operation: one call to a dependency.
 * `&block=MS&at=MS` blocks the loop for `block` ms, from `at` ms after the call began. `&compute=MS` and `&wait=MS` add
 * work of the service itself, before and after the call. `/seen` returns the operations since the last `/seen`: the
 * verdict and the estimate in meltproof's record, the time that the dependency reported, and the wall time of the call.
 * `/metrics-port` returns the port of the metrics.
 */
import { subscribe } from 'node:diagnostics_channel'
import http from 'node:http'
import { protect } from 'meltproof'
import { metrics } from 'meltproof/prometheus'

let seen = []
let called = {}
subscribe('meltproof:request', ({ record }) => {
  if (record.url.startsWith('/op')) seen.push({ verdict: record.verdict, estimateMs: record.dependencyMs, ...called })
})

const block = ms => {
  const until = performance.now() + ms
  while (performance.now() < until);
}

const server = http.createServer(async (request, response) => {
  const { pathname, searchParams } = new URL(request.url, 'http://us')
  if (pathname === '/seen') {
    response.end(JSON.stringify(seen))
    seen = []
    return
  }
  if (pathname === '/metrics-port') {
    response.end(JSON.stringify({ port: measured.address().port }))
    return
  }
  const number = name => Number(searchParams.get(name))
  if (number('compute') > 0) block(number('compute'))
  const stall = number('block') > 0 ? setTimeout(block, number('at'), number('block')) : undefined
  const startedAt = performance.now()
  const claims = searchParams.has('claims') ? '?claims' : ''
  const answer = await fetch(`http://127.0.0.1:${number('port')}/took/${number('took')}${claims}`)
  await answer.text()
  clearTimeout(stall)
  called = { tookMs: Number(answer.headers.get('x-took')), wallMs: performance.now() - startedAt }
  if (number('wait') > 0) await new Promise(resolve => setTimeout(resolve, number('wait')))
  response.end('done')
})
const measured = http.createServer(metrics(protect(server)))
measured.listen(0, '127.0.0.1')
server.listen(Number(process.env.PORT), '127.0.0.1')
