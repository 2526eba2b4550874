/** Deadlines of every kind and outcome, and a server with deadlineMs, whose clients wait, leave, or run late. */
import { once } from 'node:events'
import http from 'node:http'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { protect } from '../../packages/meltproof/src/index.ts'
import { pendingFairTimers } from '../../packages/meltproof/src/deadline/fair-timer.ts'
import { DeadlineExceededError, remaining, within } from '../../packages/meltproof/src/deadline/index.ts'
import type { SoakScenario } from './scenario.ts'

const forever = (): Promise<never> => new Promise(() => {})
const PER_STEP = 100
const STALL_EVERY_STEPS = 40

export const scenario: SoakScenario = {
  name: 'within(), budgets, and a server with deadlineMs',
  start: async () => {
    const counts = { done: 0, late: 0, cancelled: 0, answered: 0, 'answered 504': 0, left: 0 }
    const server = http.createServer(async (request, response) => {
      if (request.url === '/quick') return void response.end(String(remaining()))
      await within(Number.POSITIVE_INFINITY, forever).catch(() => response.end('too late, dropped'))
    })
    protect(server, { lanes: 1, deadlineMs: 40 })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as { port: number }
    const agent = new http.Agent({ keepAlive: true, maxSockets: 8 })
    let steps = 0

    const limited = async (i: number): Promise<void> => {
      const controller = new AbortController()
      try {
        switch (i % 5) {
          case 0:
            await within(5000, () => within(1000, () => sleep(1)))
            break
          case 1:
            await within(5, forever)
            break
          case 2:
            await within(20, () => within(Number.POSITIVE_INFINITY, signal => sleep(60_000, undefined, { signal })))
            break
          case 3:
            setImmediate(() => controller.abort(new Error('enough')))
            await within(5000, forever, { signal: controller.signal })
            break
          default:
            await within(5000, () => Promise.reject(new Error('of the work')))
        }
        counts.done++
      } catch (error) {
        if (error instanceof DeadlineExceededError) counts.late++
        else counts.cancelled++
      }
    }
    const ask = async (path: string): Promise<void> => {
      const request = http.get({ port, host: '127.0.0.1', path, agent })
      const [response] = (await once(request, 'response')) as [http.IncomingMessage]
      response.resume()
      await once(response, 'end')
      counts[response.statusCode === 504 ? 'answered 504' : 'answered']++
    }
    const leave = async (): Promise<void> => {
      const socket = connect(port, '127.0.0.1')
      socket.on('error', () => {})
      socket.write('GET /slow HTTP/1.1\r\nHost: x\r\n\r\n')
      await sleep(10)
      socket.destroy()
      counts.left++
    }

    return {
      counts,
      step: async () => {
        const work = Array.from({ length: PER_STEP }, (_, i) => limited(i))
        work.push(ask('/quick'), ask('/quick'), ask('/quick'), ask('/slow'), leave())
        if (++steps % STALL_EVERY_STEPS === 0) {
          const untilMs = performance.now() + 50
          while (performance.now() < untilMs);
        }
        await Promise.all(work)
      },
      stop: async () => {
        agent.destroy()
        server.close()
        server.closeAllConnections()
        await sleep(200)
        if (pendingFairTimers() !== 0) throw new Error(`${pendingFairTimers()} deadlines are still pending`)
      },
    }
  },
}
