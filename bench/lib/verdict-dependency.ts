/**
 * The dependency of bench/verdicts.ts: `?took=MS` answers after MS, and with `&claims` reports the time in
 * Server-Timing. The port `way` leads to it through a proxy that delays requests by the first argument, ms.
 */
import http from 'node:http'
import net, { type AddressInfo } from 'node:net'

const wayMs = Number(process.argv[2])
const server = http.createServer((request, response) => {
  const { searchParams } = new URL(request.url!, 'http://us')
  const beganAt = performance.now()
  setTimeout(
    () => {
      if (searchParams.has('claims')) response.setHeader('server-timing', `total;dur=${performance.now() - beganAt}`)
      response.end('ok')
    },
    Number(searchParams.get('took')),
  )
})
const way = net.createServer(near => {
  const far = net.connect((server.address() as AddressInfo).port, '127.0.0.1')
  near.on('data', bytes => setTimeout(() => far.write(bytes), wayMs))
  far.on('data', bytes => near.write(bytes))
  near.on('error', () => far.destroy()).on('close', () => far.destroy())
  far.on('error', () => near.destroy()).on('close', () => near.destroy())
})
const portOf = (of: net.Server): number => (of.address() as AddressInfo).port
server.listen(0, '127.0.0.1', () =>
  way.listen(0, '127.0.0.1', () => process.send!({ port: portOf(server), way: portOf(way) })),
)
process.on('disconnect', () => process.exit())
