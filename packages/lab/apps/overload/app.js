/**
 * One app of the scoreboard: `node app.js WORKLOAD ARM`, on PORT. The work is the same in every arm. Only the shedder in
 * front of it differs, each set up as its own README shows, with its defaults. under-pressure is a Fastify plugin, so
 * that arm is a Fastify app. Its README's thresholds never trip here, so it gets the 100 ms of event loop delay that its
 * users choose.
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

/** Only for a workload that is about an option. */
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
  'under-pressure': () => {
    const app = fastify()
    void app.register(underPressure, { maxEventLoopDelay: 100 })
    app.get('/*', (request, reply) => {
      void reply.type('text/html; charset=utf-8')
      return work(request.url)
    })
    void app.listen({ port, host })
  },
  meltproof: () => {
    const server = http.createServer(handler)
    protect(server, OPTIONS[workload])
    server.listen(port, host)
  },
}

const start = START[arm]
if (start === undefined) throw new Error(`unknown arm ${arm}; known: ${Object.keys(START).join(', ')}`)
start()
// The neighbour shares the core that this process is pinned to.
if (workload === 'neighbour') spawn(process.execPath, [fileURLToPath(new URL('../busy-loop.js', import.meta.url))])
