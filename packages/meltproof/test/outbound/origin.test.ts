/** The origin of a node:http call, whatever its Host header says. */
import assert from 'node:assert/strict'
import http from 'node:http'
import { after, describe, it } from 'node:test'
import { originOf } from '../../src/outbound/origin.ts'

const requests: http.ClientRequest[] = []
after(() => {
  for (const request of requests) request.destroy()
})

function originOfRequest(options: http.RequestOptions): string {
  const request = http.request({ ...options, agent: false, lookup: () => undefined })
  request.on('error', () => undefined)
  requests.push(request)
  return originOf(request)
}

/** The port of a call whose Host header names another host. Node 22 does not keep it. */
const PORT = Number(process.versions.node.split('.')[0]) >= 24 ? ':9' : ''

describe('the origin of a call', () => {
  for (const [what, options, origin] of [
    ['has its host and port', { host: 'up.test', port: 8080 }, 'http://up.test:8080'],
    ['omits the default port', { host: 'UP.test', port: 80 }, 'http://up.test'],
    ['has an IPv6 address in brackets', { host: '::1', port: 9 }, 'http://[::1]:9'],
    [
      'has the port of a Host header for the same host',
      { host: 'up.test', headers: { host: 'up.test:81' } },
      'http://up.test:81',
    ],
    [
      'is not a Host header for another host, which a proxy passes on',
      { host: 'up.test', port: 9, headers: { host: 'shop.test' } },
      `http://up.test${PORT}`,
    ],
    [
      'has no port of a Host header for another host',
      { host: 'up.test', port: 9, headers: { host: 'shop.test:81' } },
      `http://up.test${PORT}`,
    ],
    [
      'is that of the target URL behind a forward proxy',
      { host: 'proxy.test', port: 9, path: 'http://far.test:8/a', headers: { host: 'far.test:8' } },
      'http://far.test:8',
    ],
    [
      'is the socket path for a Unix socket',
      { socketPath: '/tmp/none.sock', headers: { host: 'shop.test' } },
      'unix:/tmp/none.sock',
    ],
  ] as const) {
    it(what, () => assert.equal(originOfRequest(options), origin))
  }
})
