/** Child process of lanes-processes.test.ts. Runs the part named by argv[2], and reports over IPC. */
import cluster from 'node:cluster'
import fs from 'node:fs'
import http from 'node:http'
import net from 'node:net'
import { openLanes } from '../../../src/server/connection/lanes.ts'

const [part, kind = 'lanes', extra = '{}'] = process.argv.slice(2)
const say = (message: unknown): void => void process.send?.(message, undefined, {}, () => undefined)
const wanted = kind === 'lanes' ? 16 : 1

const parts: Record<string, () => void> = {
  /** Listens on the given port at the given millisecond, for each message of the parent. */
  race() {
    let server: net.Server | undefined
    process.on('message', ({ port, at, options }: { port?: number; at: number; options?: net.ListenOptions }) => {
      if (port === undefined) {
        server?.close(() => say('closed'))
        return
      }
      server = net.createServer()
      const lanes = openLanes(server, wanted)
      server.once('listening', () => say({ listening: lanes.count }))
      server.once('error', (error: NodeJS.ErrnoException) => {
        server = undefined
        say({ code: error.code })
      })
      while (performance.timeOrigin + performance.now() < at);
      server.listen({ port, ...options })
    })
    process.once('disconnect', () => process.exit())
    say('ready')
  },

  /** Has only an unref'd server, so the process must end by itself. */
  unref() {
    const server = http.createServer()
    openLanes(server, wanted)
    server.listen(0, () => {
      server.unref()
      process.disconnect?.()
    })
  },

  /** Calls unref() before listen(). */
  unrefFirst() {
    const server = http.createServer().unref()
    openLanes(server, wanted)
    server.listen(0)
    process.disconnect?.()
  },

  /** Calls unref(), then ref() again. The process must live until the timer closes the server. */
  ref() {
    const server = http.createServer()
    openLanes(server, wanted)
    server.listen(0, () => {
      server.unref()
      server.ref()
      setTimeout(() => server.close(() => say('still here')), 50).unref()
      process.channel?.unref()
    })
  },

  close() {
    const server = http.createServer((_, response) => response.end('ok'))
    openLanes(server, wanted)
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as net.AddressInfo
      http.get({ port, host: '127.0.0.1' }, response => {
        response.resume().on('end', () => server.close())
      })
      process.disconnect?.()
    })
  },

  /** Has five descriptors left: enough for one listener, but not for sixteen. */
  scarce() {
    const server = http.createServer((_, response) => response.end('ok'))
    const warnings: string[] = []
    const lanes = openLanes(server, wanted, warning => warnings.push(warning))
    const open: number[] = []
    try {
      for (;;) open.push(fs.openSync('/dev/null', 'r'))
    } catch {}
    for (const fd of open.splice(0, 5)) fs.closeSync(fd)
    server.listen(0, '127.0.0.1', () => {
      for (const fd of open) fs.closeSync(fd)
      http.get({ port: (server.address() as net.AddressInfo).port, host: '127.0.0.1' }, response => {
        say({ count: lanes.count, warnings, status: response.statusCode })
        response.resume()
        server.close(() => process.disconnect?.())
      })
    })
  },

  /** Listens on a descriptor that the parent opened (socket activation): number 4, after stdio and IPC. */
  inherited() {
    const server = http.createServer((_, response) => response.end('ok'))
    const warnings: string[] = []
    const lanes = openLanes(server, wanted, warning => warnings.push(warning))
    server.listen({ fd: 4 } as net.ListenOptions, () => {
      say({ count: lanes.count, warnings })
      server.close(() => process.disconnect?.())
    })
  },

  /** A primary with two workers that report the result of their listen(). Then it sends each a few requests. */
  cluster() {
    if (cluster.isWorker) worker()
    else
      primary(reports =>
        answers(reports.map(({ port }) => port)).then(pids => {
          say({ reports, pids })
        }),
      )
  },

  /** Like `cluster`, on a port that another process uses. */
  clusterTaken() {
    if (cluster.isWorker) worker()
    else primary(reports => say(reports.map(({ code }) => code)))
  },
}

interface Report {
  count?: number
  code?: string | undefined
  warnings?: string[]
  port: number
}

function primary(done: (reports: Report[]) => void | Promise<void>): void {
  const reports: Report[] = []
  for (let i = 0; i < 2; i++) {
    cluster.fork().on('message', async report => {
      reports.push(report as Report)
      if (reports.length < 2) return
      await done(reports)
      for (const each of Object.values(cluster.workers ?? {})) each?.kill()
      process.disconnect?.()
    })
  }
}

function worker(): void {
  const warnings: string[] = []
  const server = http.createServer((_, response) => response.end(String(process.pid)))
  const lanes = openLanes(server, wanted, warning => warnings.push(warning))
  server.once('error', (error: NodeJS.ErrnoException) => say({ code: error.code, port: 0 }))
  server.listen({ port: 0, host: '127.0.0.1', ...(JSON.parse(extra) as net.ListenOptions) }, () =>
    say({ count: lanes.count, port: (server.address() as net.AddressInfo).port, warnings }),
  )
}

async function answers(ports: number[]): Promise<string[]> {
  const pids: string[] = []
  for (let i = 0; i < 20; i++) {
    const port = ports[i % ports.length]!
    pids.push(
      await new Promise<string>((resolve, reject) => {
        http
          .get({ port, host: '127.0.0.1', agent: false }, response => {
            let body = ''
            response.setEncoding('utf8').on('data', text => (body += text))
            response.on('end', () => resolve(body))
          })
          .on('error', reject)
      }),
    )
  }
  return [...new Set(pids)]
}

parts[part ?? '']?.()
