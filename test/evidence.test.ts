/** The load of bench/evidence.ts against a server with known answers: its counts add up, over HTTP/1.1 and HTTP/2. */
import assert from 'node:assert/strict'
import http, { type RequestListener } from 'node:http'
import http2 from 'node:http2'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { type Asked, load } from '../bench/lib/evidence-load.ts'

/** Longer than in the benchmark, because the machine may stall for 2 s. */
const PROMISE_MS = 4000
const SLOW_MS = 4500

const ANSWERS: Readonly<Record<string, RequestListener>> = {
  fine: (_, response) => void response.end('fine'),
  slow: (_, response) => void setTimeout(() => response.end('slow'), SLOW_MS),
  refused: (_, response) => void response.writeHead(401).end(),
  shed: (_, response) => void response.writeHead(503).end(),
  never: () => {},
}
const listener: RequestListener = (request, response) => ANSWERS[String(request.headers['x-work'])]!(request, response)

async function asked(over: 'http1' | 'http2', all: readonly Asked[]): ReturnType<typeof load> {
  const server = over === 'http1' ? http.createServer(listener) : http2.createServer(listener as never)
  await new Promise<void>(listening => server.listen(0, '127.0.0.1', listening))
  try {
    return await load((server.address() as AddressInfo).port, over, all, 2500, PROMISE_MS)
  } finally {
    server.close()
    if ('closeAllConnections' in server) server.closeAllConnections()
  }
}

const cohort = (work: string, ownMs: number, clients: number, requests: number): Asked => ({
  ...{ name: work, path: '/', work, ownMs, fromMs: 0, clients, requests },
})

for (const over of ['http1', 'http2'] as const) {
  test(`the fate of each request is counted, ${over}`, { concurrency: true }, async () => {
    const { became } = await asked(over, [
      cohort('fine', 0, 5, 3),
      cohort('refused', 0, 5, 1),
      cohort('shed', 0, 5, 2),
      cohort('never', 0, 3, 4),
      { name: 'late', path: '/', work: 'slow', ownMs: 0, fromMs: 0, clients: 2, requests: 1 },
      { name: 'slow by nature', path: '/', work: 'slow', ownMs: SLOW_MS, fromMs: 0, clients: 2, requests: 1 },
      { name: 'each 100 ms', path: '/', work: 'fine', ownMs: 0, fromMs: 0, toMs: 1000, perSecond: 10 },
    ])
    const counts = Object.entries(became).map(([name, each]) => {
      const { offered, inItsTime, late, shed, failed } = each
      assert.equal(offered, inItsTime + late + shed + failed, name)
      return [name, { offered, inItsTime, late, shed }]
    })
    assert.deepEqual(Object.fromEntries(counts), {
      fine: { offered: 15, inItsTime: 15, late: 0, shed: 0 },
      refused: { offered: 5, inItsTime: 5, late: 0, shed: 0 },
      shed: { offered: 10, inItsTime: 0, late: 0, shed: 10 },
      never: { offered: 3, inItsTime: 0, late: 3, shed: 0 },
      late: { offered: 2, inItsTime: 0, late: 2, shed: 0 },
      'slow by nature': { offered: 2, inItsTime: 2, late: 0, shed: 0 },
      'each 100 ms': { offered: 10, inItsTime: 10, late: 0, shed: 0 },
    })
    assert.equal(became['refused']!.good, 0)
    assert.equal(became['slow by nature']!.good, 0)
  })
}
