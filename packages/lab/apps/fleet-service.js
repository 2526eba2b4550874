/**
 * One of the services behind a balancer, on PORT. With FORM=cpu a request burns five slices of CPU: 5 ms, or less if
 * MELTLAB_SPIN_PER_MS is below the calibration. With FORM=wait it holds one of POOL connections for HOLD_MS. A health
 * check (`/ready`) costs nothing. After `/slower`, requests hold their connection four times as long.
 */
import http from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { burn } from './burst-work.js'

const { PORT, FORM = 'cpu', HOLD_MS = '50', POOL = '10' } = process.env
const waiting = []
let free = Number(POOL)
let holdMs = Number(HOLD_MS)

async function hold() {
  if (free === 0) await new Promise(resolve => waiting.push(resolve))
  else free--
  await sleep(holdMs)
  const next = waiting.shift()
  if (next === undefined) free++
  else next()
}

const work = FORM === 'cpu' ? burn : hold

http
  .createServer(async (request, response) => {
    if (request.url === '/slower') holdMs *= 4
    else if (request.url !== '/ready') await work()
    response.setHeader('content-type', 'application/json').end('{"done":true}\n')
  })
  .listen(Number(PORT), '127.0.0.1')
