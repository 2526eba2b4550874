/**
 * A service with one injected fault at a time, for a real Prometheus to scrape. It is protected, and has its metrics on
 * another port. Its dependency and its clients run in another process, so that its faults do not affect them.
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
  // The dependency answers after the number of ms in the path, and reports that time in Server-Timing.
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
  // The clients of the service are an open loop: they do not wait for answers.
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
  // A proxy to the dependency, which delays bytes when the network is slow.
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
    // Blocks 70 % of the time, so that most requests arrive during a block.
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
