/**
 * The dependency of the blame experiment. `/took/MS` answers after MS milliseconds and reports the real time in
 * `x-took`; with `?claims` also in Server-Timing, as a dependency under meltproof does. `/way` returns the number of a
 * second port, on which everything that a caller sends arrives DELAY_MS later.
 */
import http from 'node:http'
import net from 'node:net'

const delayMs = Number(process.env.DELAY_MS)
const server = http.createServer((request, response) => {
  if (request.url === '/way') {
    response.end(JSON.stringify({ port: way.address().port }))
    return
  }
  const { pathname, searchParams } = new URL(request.url, 'http://dependency')
  const started = performance.now()
  setTimeout(
    () => {
      const tookMs = (performance.now() - started).toFixed(3)
      response.setHeader('x-took', tookMs)
      if (searchParams.has('claims')) response.setHeader('server-timing', `total;dur=${tookMs}`)
      response.end('ok')
    },
    Number(pathname.split('/').at(-1)),
  )
})
const way = net.createServer(near => {
  const far = net.connect(server.address().port, '127.0.0.1')
  near.on('data', bytes => setTimeout(() => far.write(bytes), delayMs))
  far.on('data', bytes => near.write(bytes))
  near.on('error', () => far.destroy()).on('close', () => far.destroy())
  far.on('error', () => near.destroy()).on('close', () => near.destroy())
})
way.listen(0, '127.0.0.1', () => server.listen(Number(process.env.PORT), '127.0.0.1'))
