/**
 * The service of the blame experiment, under meltproof: an operation is one call to a dependency. `/op?port=P&took=MS`
 * calls it; with `&block=MS` the loop is blocked that long while the call is under way. `/seen` hands out, once, what
 * meltproof's record said of each operation.
 */
import { subscribe } from 'node:diagnostics_channel'
import http from 'node:http'
import { protect } from 'meltproof'

let seen = []
subscribe('meltproof:request', ({ record }) => {
  if (record.url.startsWith('/op'))
    seen.push({ totalMs: record.totalMs, verdict: record.verdict, shares: record.shares })
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
  const number = name => Number(searchParams.get(name))
  if (number('block') > 0) setTimeout(block, 20, number('block'))
  const answer = await fetch(`http://127.0.0.1:${number('port')}/took/${number('took')}`)
  await answer.text()
  response.end('done')
})
protect(server)
server.listen(Number(process.env.PORT), '127.0.0.1')
