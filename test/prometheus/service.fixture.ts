/**
 * A service on which one fault at a time can be injected, for a real Prometheus to look at: protected, measured on a
 * port of its own. Its dependency and its clients are another process, so that what they feel is not its own.
 *
 * The test sends the fault: none, dependency, loop, network or log.
 */
import { fork } from 'node:child_process'
import { channel } from 'node:diagnostics_channel'
import http from 'node:http'
import net, { type AddressInfo } from 'node:net'
import { protect } from '../../packages/meltproof/dist/index.js'
import { metrics } from '../../packages/meltproof/dist/observe/prometheus.js'

const logLosses = channel('meltproof:log-loss')

const listening = async (server: net.Server): Promise<number> => {
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}

if (process.argv[2] === 'dependency') {
  // Says honestly how long it took, and takes as long as its path says.
  const port = await listening(
    http.createServer((request, response) => {
      const tookMs = Number(request.url!.slice(1))
      setTimeout(() => {
        response.setHeader('server-timing', `total;dur=${tookMs}`)
        response.end('ok')
      }, tookMs)
    }),
  )
  process.on('disconnect', () => process.exit())
  process.send!(port)
  // Its clients: nobody waits for an answer before the next one asks (an open loop).
  process.once('message', (url: string) => {
    const agent = new http.Agent({ keepAlive: true })
    setInterval(() => {
      http.get(url, { agent }, response => response.resume()).on('error', () => undefined)
    }, 40)
  })
} else {
  let fault = 'none'
  const dependency = fork(import.meta.filename, ['dependency'])
  const dependencyPort = await new Promise<number>(resolve => dependency.once('message', resolve as never))
  // The way to the dependency: passes bytes on, later when the network is slow.
  const way = net.createServer(near => {
    const far = net.connect(dependencyPort, '127.0.0.1')
    near.on('data', bytes => setTimeout(() => far.write(bytes), fault === 'network' ? 400 : 0))
    far.on('data', bytes => near.write(bytes))
    near.on('error', () => far.destroy()).on('close', () => far.destroy())
    far.on('error', () => near.destroy()).on('close', () => near.destroy())
  })
  const wayPort = await listening(way)
  const server = http.createServer(async (_, response) => {
    try {
      const answer = await fetch(`http://127.0.0.1:${wayPort}/${fault === 'dependency' ? 400 : 5}`)
      response.end(await answer.text())
    } catch (error) {
      response.writeHead(502).end(String(error))
    }
  })
  const guard = protect(server)
  const measured = metrics(guard)
  const [port, scrapePort] = [await listening(server), await listening(http.createServer(measured))]
  setInterval(() => {
    // Seven tenths of the time: whatever comes in has come in during it.
    if (fault === 'loop') {
      const untilMs = Date.now() + 350
      while (Date.now() < untilMs);
    }
    if (fault === 'log') logLosses.publish({ stream: 'stdout', lines: 5, bytes: 500 })
  }, 500)
  process.on('message', (next: string) => {
    fault = next
    process.send!({ fault })
  })
  process.on('disconnect', () => {
    dependency.kill()
    process.exit()
  })
  dependency.send(`http://127.0.0.1:${port}/`)
  process.send!({ port, scrapePort })
}
