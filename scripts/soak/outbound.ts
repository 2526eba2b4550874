/** Bounded outbound calls that answer, hang, trickle, break off and are aborted, by fetch and node:http. */
import { once } from 'node:events'
import http from 'node:http'
import { pendingFairTimers } from '../../packages/meltproof/src/deadline/fair-timer.ts'
import { within } from '../../packages/meltproof/src/deadline/index.ts'
import { install } from '../../packages/meltproof/src/outbound/index.ts'
import type { SoakScenario } from './scenario.ts'

export const scenario: SoakScenario = {
  name: 'install(): fetch and node:http',
  start: async () => {
    const counts = { answered: 0, failed: 0 }
    const uninstall = install({ totalMs: 60, idleMs: 30, firstByteMs: 30 })
    const server = http.createServer((request, response) => {
      const timers: NodeJS.Timeout[] = []
      response.on('close', () => timers.forEach(clearInterval))
      switch (request.url) {
        case '/quick':
          response.end('x'.repeat(2000))
          break
        case '/drip':
          timers.push(setInterval(() => response.write('x'), 10))
          break
        case '/breaks':
          response.write('x')
          timers.push(setTimeout(() => response.destroy(), 5))
          break
        default: // The request hangs.
      }
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as { port: number }
    const base = `http://127.0.0.1:${port}`
    const agent = new http.Agent({ keepAlive: true })

    const byFetch = async (path: string): Promise<void> => {
      await (await fetch(base + path)).text()
    }
    const byHttp = async (path: string): Promise<void> => {
      const request = http.get(base + path, { agent })
      // Errors after the response has begun also fail the response, where they are caught.
      request.on('error', () => {})
      const [response] = (await once(request, 'response')) as [http.IncomingMessage]
      for await (const _ of response);
    }
    const count = (call: Promise<void>): Promise<unknown> =>
      call.then(
        () => counts.answered++,
        () => counts.failed++,
      )

    return {
      counts,
      step: async () => {
        const calls = ['/quick', '/quick', '/quick', '/hangs', '/drip', '/breaks'].flatMap(path => [
          count(byFetch(path)),
          count(byHttp(path)),
        ])
        calls.push(count(within(15, () => byFetch('/hangs'))))
        const controller = new AbortController()
        calls.push(count(fetch(`${base}/hangs`, { signal: controller.signal }).then(() => {})))
        setTimeout(() => controller.abort(), 10)
        await Promise.all(calls)
      },
      stop: async () => {
        uninstall()
        agent.destroy()
        server.close()
        server.closeAllConnections()
        await new Promise(resolve => setTimeout(resolve, 300))
        if (pendingFairTimers() !== 0) throw new Error(`${pendingFairTimers()} deadlines are still pending`)
      },
    }
  },
}
