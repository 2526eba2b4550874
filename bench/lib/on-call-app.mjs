/**
 * A shop that bench/on-call.ts breaks on purpose. `loop`: the page of invoices holds the event loop. `dependency`: it
 * calls a peer in another process that handles one order after the other, 60 ms each. `memory`: it holds the body of
 * each new invoice in Buffers for six seconds.
 */
import { fork } from 'node:child_process'
import http from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'

const [, file, broken] = process.argv
const port = Number(process.env.PORT)
const orders = Array.from({ length: 60_000 }, (_, id) => ({ id, name: `customer ${id}`, lines: [1, 2, 3, id] }))

function renderInvoices() {
  let text = ''
  for (let n = 0; n < 6; n++) text = JSON.stringify(orders)
  return text.length
}

async function hold(request, response) {
  const chunks = await request.toArray().catch(() => undefined)
  await sleep(6000)
  response.end(`${chunks?.length}\n`)
}

if (broken === 'peer') {
  let last = Promise.resolve()
  http
    .createServer((_, response) => {
      last = last.then(() => sleep(60))
      void last.then(() => response.end('{}'))
    })
    .listen(port + 1, '127.0.0.1')
  process.on('disconnect', () => process.exit())
} else if (broken === 'dependency') {
  fork(file, ['peer'], { execArgv: [], env: { PATH: process.env.PATH, PORT: process.env.PORT } })
}

if (broken !== 'peer') {
  http
    .createServer(async (request, response) => {
      if (request.url === '/invoices' && broken === 'loop') return response.end(`${renderInvoices()}\n`)
      if (request.url === '/invoices' && broken === 'memory') return hold(request, response)
      if (broken === 'dependency') await (await fetch(`http://127.0.0.1:${port + 1}/orders`)).text()
      else await sleep(5)
      response.end('soon\n')
    })
    .listen(port, '127.0.0.1')
}
