/**
 * One app of the scoreboard: `node app.js WORKLOAD ARM`, on PORT. The work is the same in every arm. Only the shedder
 * differs; each shedder is set up as its README shows, with its defaults. under-pressure is a Fastify plugin, so its
 * arms are Fastify apps: one has the limits of its README, and one has the limit that a careful operator chooses,
 * 100 ms of event loop delay and no memory limit. The README's 100 MB of rss is less than this app needs under load.
 */
import { spawn } from 'node:child_process'
import http from 'node:http'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import underPressure from '@fastify/under-pressure'
import fastify from 'fastify'
import { protect } from 'meltproof'
import { workOf } from './work.js'

const require = createRequire(import.meta.url)
const [workload = '', arm = ''] = process.argv.slice(2)
const work = workOf(workload)
const port = Number(process.env['PORT'])
const host = '127.0.0.1'

function handlerOf(doWork) {
  return (request, response) => {
    doWork(request.url ?? '/').then(
      body => response.setHeader('content-type', 'text/html; charset=utf-8').end(body),
      error => {
        response.statusCode = 500
        response.end(`${error}\n`)
      },
    )
  }
}

const handler = handlerOf(work)

function fastifyApp(limits) {
  const app = fastify()
  void app.register(underPressure, limits)
  app.get('/*', (request, reply) => {
    void reply.type('text/html; charset=utf-8')
    return work(request.url)
  })
  void app.listen({ port, host })
}

/** Options of `protect()`, only for a workload that tests one. */
const OPTIONS = { forged: { deadlineMs: 3000 } }

const START = {
  bare: () => void http.createServer(handler).listen(port, host),
  'toobusy-js': () => {
    const toobusy = require('toobusy-js')
    http
      .createServer((request, response) => {
        if (!toobusy()) return handler(request, response)
        response.statusCode = 503
        response.end("I'm busy right now, sorry.")
      })
      .listen(port, host)
  },
  'overload-protection': () => {
    const guard = require('overload-protection')('http')
    http
      .createServer((request, response) => {
        if (guard(request, response) !== true) handler(request, response)
      })
      .listen(port, host)
  },
  'under-pressure': () => fastifyApp({ maxEventLoopDelay: 100 }),
  'under-pressure-readme': () =>
    fastifyApp({
      maxEventLoopDelay: 1000,
      maxHeapUsedBytes: 100000000,
      maxRssBytes: 100000000,
      maxEventLoopUtilization: 0.98,
    }),
  // HAProxy checks /ready. A health check that does the work of a request would say that a busy service is down.
  'haproxy-guessed': () =>
    void http
      .createServer((request, response) =>
        request.url === '/ready' ? response.end('ready\n') : handler(request, response),
      )
      .listen(port, host),
  // meltproof/register protects it, and answers the checks of HAProxy on other ports.
  'haproxy-agent': async () => {
    await import('meltproof/register')
    http.createServer(handler).listen(port, host)
  },
  meltproof: () => {
    const server = http.createServer(handler)
    protect(server, OPTIONS[workload])
    server.listen(port, host)
  },
}

const start = START[arm]
if (start === undefined) throw new Error(`unknown arm ${arm}; known: ${Object.keys(START).join(', ')}`)
await start()
// The neighbour shares the core that this process is pinned to.
if (workload === 'neighbour') spawn(process.execPath, [fileURLToPath(new URL('../busy-loop.js', import.meta.url))])
