/** A real server, protected or not, whose clients leave while their request is in service. */
import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { protect } from '../../../src/index.ts'
import type { Ending } from './ending.ts'

export interface Departures {
  /**
   * Runs `work` as the handler of a request. Returns undefined if the server did not start it (shed, or no time left).
   */
  serve<T>(ending: Ending, work: () => Promise<T>): Promise<T | undefined>
  stop(): Promise<void>
}

interface Job {
  start(): Promise<unknown>
}

export async function startDepartures({ isProtected }: { readonly isProtected: boolean }): Promise<Departures> {
  const jobs = new Map<string, Job>()
  const server = http.createServer((request, response) => {
    const job = jobs.get(request.url!)
    jobs.delete(request.url!)
    const end = (status: number): void => {
      response.statusCode = status
      response.end()
    }
    if (job === undefined) end(410)
    else
      job.start().then(
        () => end(200),
        () => end(500),
      )
  })
  // The limit is high, because sheds show nothing about databases.
  if (isProtected) protect(server, { deadlineMs: 60_000, trustCallersFrom: true, limit: 10_000, lanes: 1 })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  let requests = 0
  return {
    async serve<T>(ending: Ending, work: () => Promise<T>): Promise<T | undefined> {
      const path = `/${++requests}`
      const headers: http.OutgoingHttpHeaders = { connection: 'close' }
      if (ending.by === 'request deadline') headers['x-envoy-expected-rq-timeout-ms'] = ending.afterMs
      let worked: Promise<T> | undefined
      let timer: NodeJS.Timeout | undefined
      const request = http.get({ port, host: '127.0.0.1', path, headers, agent: false })
      jobs.set(path, {
        start: () => {
          if (ending.by === 'client') timer = setTimeout(() => request.destroy(), ending.afterMs)
          worked = work()
          return worked
        },
      })
      await new Promise<void>(resolve => {
        request.on('response', response => response.resume())
        request.on('error', () => {})
        request.on('close', resolve)
      })
      clearTimeout(timer)
      // Work that the server has not started by now must not start later.
      jobs.delete(path)
      return worked
    },
    async stop() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}
